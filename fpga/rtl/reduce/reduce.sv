// SPDX-License-Identifier: Apache-2.0
// Sums of up to eight vectors that come in one stream (model: offramp.leo.functions.reduce), with registers.
//
// A request packet is a header (type, number of vectors, elements, number of the request) and the vectors, each from a beat
// of its own; the answer packet has the sum and a completion. A beat a cycle; latency 7 for each level
// of the tree of adders (1 without formats of floating point), and 5, from the last beat of a request to the first of the sum.
`include "axi.svh"
module reduce #(
    // Bits of a beat, a power of two, 128 or more.
    parameter WIDTH = 512,
    // Beats of a vector that fit, a power of two, 2 or more.
    parameter DEPTH = 512,
    // Vectors of a request: 2, 4 or 8; requests of more, up to 8, are answered with UNKNOWN_FUNCTION.
    parameter INPUTS = 8,
    // 1: sums float32 and bfloat16; 0: answers such requests with UNKNOWN_FUNCTION, and lacks their adders.
    parameter FLOAT32S = 1,
    parameter BFLOAT16S = 1
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH)
);
  wire cancel, idle, empty, summed, faulty;
  /* verilator lint_off VARHIDDEN */ reg [31:0] sums, faults; /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
  always @(posedge clk)
    if (rst) begin
      sums   <= 0;
      faults <= 0;
    end else begin
      sums   <= sums + summed;
      faults <= faults + faulty;
    end

  reduce_regs regs (
      .*,
      .hwif_out_control_abort(cancel),
      .hwif_in_status_busy(!idle || !empty || m_axis_tvalid),
      .hwif_in_capacity_value(DEPTH),
      .hwif_in_lanes_value(WIDTH / 8),
      .hwif_in_sums_value(sums),
      .hwif_in_faults_value(faults)
  );

  wire [1:0] kind;
  wire [7:0] present;
  wire [INPUTS*WIDTH-1:0] data;
  wire ending, valid, ready;
  wire [103:0] completion;

  reduce_buffer #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .BFLOAT16S(BFLOAT16S)
  ) buffer (
      .*,
      .out_kind(kind),
      .out_present(present),
      .out_data(data),
      .out_end(ending),
      .out_completion(completion),
      .out_valid(valid),
      .out_ready(ready)
  );

  reduce_pipe #(
      .WIDTH(WIDTH),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .BFLOAT16S(BFLOAT16S)
  ) pipe (
      .*,
      .in_kind(kind),
      .in_present(present),
      .in_data(data),
      .in_end(ending),
      .in_completion(completion),
      .in_valid(valid),
      .in_ready(ready)
  );
endmodule
