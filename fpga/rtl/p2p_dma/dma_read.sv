// SPDX-License-Identifier: Apache-2.0
// Reads a job's lines from one of three memories, in order, and only as many as there is room for.
module dma_read #(
    // Bits of a line, a power of two, 128 to 1024.
    parameter WIDTH = 512,
    // Lines of a burst at most, 1 to 256.
    parameter BURST = 16,
    // Lines that wait in the queue behind, or are on their way to it, a burst or more.
    parameter DEPTH = 64
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             stop,          // ask for nothing more
    output wire             quiet,         // nothing is on its way
    input  wire             job_valid,
    output wire             job_ready,
    input  wire [      1:0] job_from,
    input  wire [     63:0] job_address,   // of its first line
    input  wire [     32:0] job_lines,
    output wire [     63:0] araddr,
    output wire [      7:0] arlen,
    output wire [      2:0] arvalid,       // a bit for each memory
    input  wire [      2:0] arready,
    input  wire [3*WIDTH-1:0] rdata,
    input  wire [      5:0] rresp,
    input  wire [      2:0] rvalid,
    output wire [      2:0] rready,
    output wire [WIDTH+1:0] line,          // response, data
    output wire             line_valid,
    input  wire             line_taken     // a line has left the queue behind
);
  if (DEPTH < BURST) begin : wrong_DEPTH dma_read_needs_DEPTH_of_BURST_or_more refused (); end

  localparam COUNT = $clog2(DEPTH);

  reg busy, held;
  reg [1:0] from;
  reg given;              // a line has left the queue behind in the cycle before
  reg [COUNT:0] room;     // lines that may still be asked for
  reg [COUNT:0] flying;   // lines that were asked for and have not come

  wire [8:0] lines;
  wire offered, asked, over;
  dma_burst #(
      .WIDTH(WIDTH),
      .BURST(BURST)
  ) burst (
      .*,
      .load(job_valid && job_ready),
      .first(job_address),
      .count(job_lines),
      .address(araddr),
      .valid(offered),
      .taken(asked)
  );

  // A memory is left only when all that was asked of it has come: lines come in the order of jobs.
  // An address that was offered stays offered.
  /* verilator lint_off WIDTHEXPAND */ wire asking = offered && (!stop || held) && room >= lines; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  assign asked = asking && arready[from];
  wire came = rvalid[from] && flying != 0;

  /* verilator lint_off WIDTHTRUNC */ assign arlen      = lines - 1'b1; /* verilator lint_on WIDTHTRUNC */  // the value fits
  assign arvalid    = asking ? 3'b001 << from : 3'b000;
  assign rready     = flying != 0 ? 3'b001 << from : 3'b000;
  assign line       = {rresp[from*2+:2], rdata[from*WIDTH+:WIDTH]};
  assign line_valid = came;
  assign job_ready  = !busy;
  assign quiet      = flying == 0 && !held;

  always @(posedge clk) begin
    if (job_valid && job_ready) from <= job_from;
    if (rst) begin
      busy   <= 1'b0;
      held   <= 1'b0;
      given  <= 1'b0;
      room   <= DEPTH;
      flying <= 0;
    end else begin
      if (!busy) busy <= job_valid;
      else if (over && !offered && flying == 0) busy <= 1'b0;
      held   <= asking && !asked;
      given  <= line_taken;
      /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ room   <= asked ? room - lines + given : room + given; /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // zero-extended; the value fits
      /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ flying <= asked ? flying + lines - came : flying - came; /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // zero-extended; the value fits
    end
  end
endmodule
