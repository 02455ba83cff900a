// SPDX-License-Identifier: Apache-2.0
// Output of an engine that never stalls inside: the queue has a place for each beat on its way.
`include "axi.svh"
module answers #(
    // Bits of a beat, a multiple of 8, 128 or more.
    parameter WIDTH = 512,
    // Beats, a power of two, 2 or more.
    parameter PLACES = 32
) (
    input  wire               clk,
    input  wire               rst,
    output wire               place,   // for one more
    input  wire               reserve,
    input  wire               put,
    input  wire [  WIDTH-1:0] data,
    input  wire               last,
    `AXIS_OUT(m_axis, WIDTH)
);
  if (WIDTH < 128 || WIDTH % 8 != 0) begin : wrong_WIDTH answers_needs_WIDTH_a_multiple_of_8_128_or_more refused (); end

  credit #(
      .COUNT(PLACES)
  ) places (
      .*,
      .available(place),
      .take(reserve),
      .give(m_axis_tvalid && m_axis_tready)
  );

  wire [$clog2(PLACES):0] level;
  fifo #(
      .WIDTH(WIDTH + 1),
      .DEPTH(PLACES)
  ) beats (
      .*,
      .in_data({last, data}),
      .in_valid(put),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({m_axis_tlast, m_axis_tdata}),
      .out_valid(m_axis_tvalid),
      .out_ready(m_axis_tready)
  );
  assign m_axis_tkeep = {WIDTH / 8{1'b1}};

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!(put && level == PLACES));
`endif
endmodule
