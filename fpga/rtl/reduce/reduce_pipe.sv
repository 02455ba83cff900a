// SPDX-License-Identifier: Apache-2.0
// Sums beats of all vectors and ends each packet with a completion: a beat a cycle, latency 3 and, for each level of the
// tree, 7, or 1 without formats of floating point.
//
// Nothing inside stalls: everything that enters has a place in the queue at the end.
`include "axi.svh"
module reduce_pipe #(
    // Bits of a beat, a multiple of 32, 128 or more.
    parameter WIDTH = 512,
    // Inputs: 2, 4 or 8.
    parameter INPUTS = 8,
    // 1: with the adders of the format.
    parameter FLOAT32S = 1,
    parameter BFLOAT16S = 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,          // what has been let in ends with ABORTED
    output wire               empty,
    output wire               summed,          // a request ended well
    output wire               faulty,          // or not
    input  wire [        1:0] in_kind,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [        7:0] in_present, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    input  wire [INPUTS*WIDTH-1:0] in_data,
    input  wire               in_end,          // the completion of a packet, which has no data
    input  wire [      103:0] in_completion,   // number, count, status
    input  wire               in_valid,
    output wire               in_ready,
    `AXIS_OUT(m_axis, WIDTH)
);
  if (WIDTH < 128 || WIDTH % 32 != 0) begin : wrong_WIDTH reduce_pipe_needs_WIDTH_a_multiple_of_32_128_or_more refused (); end

  localparam LATENCY = 2 + (FLOAT32S || BFLOAT16S ? 7 : 1) * $clog2(INPUTS);
  localparam PLACES = LATENCY < 12 ? 16 : 32;

  wire take = in_valid && in_ready;
  wire place;
  reg [LATENCY-1:0] moving;
  reg poison;  // until what was moving at the abort has left
  always @(posedge clk)
    if (rst) begin
      moving <= 0;
      poison <= 1'b0;
    end else begin
      /* verilator lint_off WIDTHTRUNC */ moving <= {moving, take}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
      poison <= cancel || (poison && !empty);
    end
  assign in_ready = place && !poison && !cancel;

  wire out_taken = m_axis_tvalid && m_axis_tready;
  credit #(
      .COUNT(PLACES)
  ) places (
      .*,
      .available(place),
      .give(out_taken)
  );

  wire [1:0] late_kind;
  delay #(
      .WIDTH (2),
      .CYCLES(LATENCY - 1)
  ) kinds (
      .clk(clk),
      .in (in_kind),
      .out(late_kind)
  );

  wire out_end;
  wire [103:0] completion;
  delay #(
      .WIDTH (105),
      .CYCLES(LATENCY)
  ) completions (
      .clk(clk),
      .in ({in_end, in_completion}),
      .out({out_end, completion})
  );

  wire [WIDTH-1:0] sums;
  genvar w, v;
  generate
    for (w = 0; w < WIDTH / 32; w = w + 1) begin : words
      wire [32*INPUTS-1:0] column;
      for (v = 0; v < INPUTS; v = v + 1) begin : vectors
        assign column[v*32+:32] = in_data[v*WIDTH+w*32+:32];
      end
      reduce_word #(
          .INPUTS(INPUTS),
          .FLOAT32S(FLOAT32S),
          .BFLOAT16S(BFLOAT16S)
      ) word (
          .clk(clk),
          .kind(in_kind),
          .present(in_present[INPUTS-1:0]),
          .words(column),
          .out_kind(late_kind),
          .sum(sums[w*32+:32])
      );
    end
  endgenerate

  wire arrived = moving[LATENCY-1];
  wire [7:0] status = poison || cancel ? device_pkg::ABORTED : completion[7:0];
  /* verilator lint_off WIDTHEXPAND */ wire [WIDTH-1:0] last = {completion[103:8], 24'b0, status}; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  /* verilator lint_off UNUSEDSIGNAL */ wire [$clog2(PLACES):0] level; /* verilator lint_on UNUSEDSIGNAL */  // unused with some parameters

  fifo #(
      .WIDTH(WIDTH + 1),
      .DEPTH(PLACES)
  ) ready_beats (
      .*,
      .in_data({out_end, out_end ? last : sums}),
      .in_valid(arrived),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({m_axis_tlast, m_axis_tdata}),
      .out_valid(m_axis_tvalid),
      .out_ready(m_axis_tready)
  );

  assign m_axis_tkeep = {WIDTH / 8{1'b1}};
  assign empty  = moving == 0;
  assign summed = arrived && out_end && status == device_pkg::OK;
  assign faulty = arrived && out_end && status != device_pkg::OK;
endmodule
