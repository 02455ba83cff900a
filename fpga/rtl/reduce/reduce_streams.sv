// SPDX-License-Identifier: Apache-2.0
// Sums of up to eight vectors, each in a stream of its own, at line rate: eight beats in and one out in every cycle.
//
// The first stream's packet begins with the request's header; as many streams as it names take part, each with a packet
// that has its vector. A vector of no elements has no packet: the header is alone. Signals of stream n lie at bit n, data
// at n * WIDTH. Latency 26.
`include "axi.svh"
module reduce_streams #(
    // Bits of a beat, a power of two, 128 or more.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,         // abort what is unfinished
    output wire               idle,
    input  wire [8*WIDTH-1:0] s_axis_tdata,
    input  wire [  WIDTH-1:0] s_axis_tkeep,
    input  wire [        7:0] s_axis_tlast,
    input  wire [        7:0] s_axis_tvalid,
    output wire [        7:0] s_axis_tready,
    `AXIS_OUT(m_axis, WIDTH)
);
  localparam BYTES = WIDTH / 8;
  localparam [1:0] HEADER = 0, VECTORS = 1, DRAIN = 2;

  wire [8*WIDTH-1:0] data;
  wire [8*BYTES-1:0] keep;
  wire [7:0] last, valid, ready;
  genvar s;
  generate
    for (s = 0; s < 8; s = s + 1) begin : streams
      skid_buffer #(
          .WIDTH(WIDTH + BYTES + 1)
      ) arrived (
          .*,
          .in_data({s_axis_tlast[s], s_axis_tkeep[s*BYTES+:BYTES], s_axis_tdata[s*WIDTH+:WIDTH]}),
          .in_valid(s_axis_tvalid[s]),
          .in_ready(s_axis_tready[s]),
          .out_data({last[s], keep[s*BYTES+:BYTES], data[s*WIDTH+:WIDTH]}),
          .out_valid(valid[s]),
          .out_ready(ready[s])
      );
    end
  endgenerate

  wire [1:0] head_kind;
  wire [7:0] head_present, head_status;
  wire [31:0] head_count, head_beats;
  wire [63:0] head_number;
  wire [BYTES-1:0] head_need;
  reduce_header #(
      .WIDTH(WIDTH),
      .MOST (1 << 22)
  ) header (
      .data(data[127:0]),
      .whole(&keep[15:0]),
      .kind(head_kind),
      .present(head_present),
      .count(head_count),
      .number(head_number),
      .beats(head_beats),
      .need(head_need),
      .status(head_status)
  );

  reg [1:0] state, kind;
  reg [7:0] present, status, open;  // open: streams whose packet has not ended
  reg [31:0] count, place, final_place;
  reg [63:0] number;
  reg [BYTES-1:0] need;
  reg closing;

  reg out_end, out_valid;
  reg [1:0] out_kind;
  reg [7:0] out_present;
  reg [8*WIDTH-1:0] out_data;
  reg [103:0] out_completion;
  wire out_ready, pipe_empty;

  wire free = !out_valid || out_ready;
  wire head = valid[0] && free && state == HEADER;
  wire meet = (valid & present) == present && free && state == VECTORS;
  wire final_beat = place == final_place;
  wire [BYTES-1:0] wanted = final_beat ? need : {BYTES{1'b1}};
  wire [7:0] lacking;
  generate
    for (s = 0; s < 8; s = s + 1) begin : checks
      assign lacking[s] = (keep[s*BYTES+:BYTES] & wanted) != wanted;
    end
  endgenerate
  wire wrong = ((last ^ {8{final_beat}} | lacking) & present) != 0;

  // A bad header is drained with the streams that it names; one that names none or too many, with its own.
  wire head_bad = head_status != device_pkg::OK || (head_beats == 0) != last[0];
  wire [7:0] head_open = head_present == 0 ? 8'b1 : head_present;
  wire [7:0] drained = open & ~(last & valid);

  assign ready = state == HEADER ? {7'b0, free} : state == VECTORS ? (meet ? present : 8'b0) : open & valid;
  assign idle  = state == HEADER && !closing && !out_valid && pipe_empty && !m_axis_tvalid;

  always @(posedge clk) begin
    if (free) closing <= 1'b0;
    if (head) begin
      {kind, present, count, number, need} <= {head_kind, head_present, head_count, head_number, head_need};
      status <= head_status != device_pkg::OK ? head_status : head_bad ? device_pkg::BAD_LENGTH : device_pkg::OK;
      place <= 0;
      final_place <= head_beats - 1'b1;
      open <= head_open & ~{7'b0, last[0]};
      closing <= last[0] && (!head_bad || head_open == 8'b1);
      state <= head_bad && (head_open != 8'b1 || !last[0]) ? DRAIN : last[0] ? HEADER : VECTORS;
    end
    if (meet) begin
      place <= place + 1'b1;
      open  <= present & ~last;
      if (wrong) status <= device_pkg::BAD_LENGTH;
      closing <= (present & ~last) == 0;
      if ((present & ~last) == 0) state <= HEADER;
      else if (wrong) state <= DRAIN;
    end
    if (state == DRAIN) begin
      open <= drained;
      if (drained == 0) begin
        state   <= HEADER;
        closing <= 1'b1;
      end
    end
    if (cancel && (state != HEADER || (closing && !free))) begin
      status <= device_pkg::ABORTED;
      if (state == VECTORS && !(meet && (present & ~last) == 0)) begin
        state <= DRAIN;
        if (!meet) open <= present;
      end
    end
    if (rst) begin
      state   <= HEADER;
      closing <= 1'b0;
    end
  end

  always @(posedge clk) begin
    if (free) begin
      out_kind <= kind;
      out_present <= present;
      out_data <= data;
      out_end <= closing;
      out_completion <= {number, status == device_pkg::OK ? count : 32'b0, cancel ? device_pkg::ABORTED : status};
    end else if (cancel) out_completion[7:0] <= device_pkg::ABORTED;
    if (rst) out_valid <= 1'b0;
    else if (free) out_valid <= closing || meet;
  end

  reduce_pipe #(
      .WIDTH(WIDTH)
  ) pipe (
      .*,
      .empty(pipe_empty),
      /* verilator lint_off PINCONNECTEMPTY */ .summed(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      /* verilator lint_off PINCONNECTEMPTY */ .faulty(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .in_kind(out_kind),
      .in_present(out_present),
      .in_data(out_data),
      .in_end(out_end),
      .in_completion(out_completion),
      .in_valid(out_valid),
      .in_ready(out_ready)
  );
endmodule
