// SPDX-License-Identifier: Apache-2.0
// Writes a job's lines to one of three memories. A burst begins when all of it is here, so it never stops half-way.
module dma_write #(
    // Bits of a line, a power of two, 128 to 1024.
    parameter WIDTH = 512,
    // Lines of a burst at most, 1 to 256.
    parameter BURST = 16
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               stop,          // begin no burst
    output wire               quiet,         // no burst has begun that is not answered
    input  wire               job_valid,
    output wire               job_ready,
    input  wire [        1:0] job_to,
    input  wire [       63:0] job_address,   // of its first line
    input  wire [       32:0] job_lines,
    input  wire               arrived,       // a line has come into the queue before this
    input  wire [  WIDTH-1:0] line_data,
    input  wire [WIDTH/8-1:0] line_strobe,
    input  wire [        1:0] line_response, // of the reads
    output wire               line_ready,
    output wire [       63:0] awaddr,
    output wire [        7:0] awlen,
    output wire [        2:0] awvalid,       // a bit for each memory
    input  wire [        2:0] awready,
    output wire [  WIDTH-1:0] wdata,
    output wire [WIDTH/8-1:0] wstrb,
    output wire               wlast,
    output wire [        2:0] wvalid,
    input  wire [        2:0] wready,
    input  wire [        5:0] bresp,
    input  wire [        2:0] bvalid,
    output wire [        2:0] bready,
    output reg                done,          // a job has been written
    output wire [        1:0] done_to,       // to which memory
    output reg  [        1:0] done_response  // the worst of its reads and writes
);
  reg busy, held;
  reg [1:0] to, worst;
  reg [9:0] spare;        // lines in the queue that belong to no burst that has begun
  reg [8:0] sent_of;      // lines of the first of them that were sent
  reg [31:0] unanswered;  // bursts, counted in the cycle after they began: until then `bursts` has them
  reg counting;

  wire [8:0] lines;
  wire offered, begun, over;
  dma_burst #(
      .WIDTH(WIDTH),
      .BURST(BURST)
  ) burst (
      .*,
      .load(job_valid && job_ready),
      .first(job_address),
      .count(job_lines),
      .address(awaddr),
      .valid(offered),
      .taken(begun)
  );

  // A burst begins while the one before it is sent. An address that was offered stays offered.
  wire [8:0] sending;
  wire some, more_bursts;
  /* verilator lint_off WIDTHEXPAND */ wire begins = offered && (!stop || held) && more_bursts && spare >= lines; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  assign begun = begins && awready[to];
  wire sent = some && wready[to];
  wire answered = bvalid[to] && unanswered != 0;
  wire [1:0] answer = bresp[to*2+:2];
  wire [1:0] read = sent ? line_response : 2'b00;
  /* verilator lint_off VARHIDDEN */ wire [1:0] write = answered ? answer : 2'b00; /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
  wire [1:0] more = read > write ? read : write;
  wire finished = busy && over && !offered && !some && unanswered == 0;

  fifo #(
      .WIDTH(9),
      .DEPTH(4)
  ) bursts (
      .*,
      .in_data(lines),
      .in_valid(begun),
      .in_ready(more_bursts),
      .out_data(sending),
      .out_valid(some),
      .out_ready(sent && wlast),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  /* verilator lint_off WIDTHTRUNC */ assign awlen      = lines - 1'b1; /* verilator lint_on WIDTHTRUNC */  // the value fits
  assign awvalid    = begins ? 3'b001 << to : 3'b000;
  assign wdata      = line_data;
  assign wstrb      = line_strobe;
  assign wlast      = sent_of + 1'b1 == sending;
  assign wvalid     = some ? 3'b001 << to : 3'b000;
  assign bready     = 3'b111;
  assign line_ready = sent;
  assign job_ready  = !busy && !done;
  assign done_to    = to;
  assign quiet      = !held && !some && !counting && unanswered == 0;

  always @(posedge clk) begin
    if (job_valid && job_ready) begin
      to <= job_to;
      worst <= 2'b00;
    end else if (more > worst) worst <= more;
    done_response <= worst;
    if (rst) begin
      busy       <= 1'b0;
      held       <= 1'b0;
      spare      <= 0;
      sent_of    <= 0;
      counting   <= 1'b0;
      unanswered <= 0;
      done       <= 1'b0;
    end else begin
      if (!busy) busy <= job_valid && job_ready;
      else if (finished) busy <= 1'b0;
      held <= begins && !begun;
      spare <= begun ? spare - lines + arrived : spare + arrived;
      if (sent) sent_of <= wlast ? 0 : sent_of + 1'b1;
      counting   <= begun;
      unanswered <= unanswered + counting - answered;
      done <= finished;
    end
  end
endmodule
