// SPDX-License-Identifier: Apache-2.0
// A pin that changes at both edges: first while the clock is high, second while it is low. This one is for simulation;
// boards have one of their chip's (fpga/boards).
module ddr_out #(
    // Steps of the chip's delay; none here.
    /* verilator lint_off UNUSEDPARAM */ parameter DELAY = 0 /* verilator lint_on UNUSEDPARAM */  // for ports like the board cell.s
) (
    input  wire clk,
    input  wire first,
    input  wire second,
    output wire pin
);
  reg high, low;
  always @(posedge clk) begin
    high <= first;
    low  <= second;
  end
  assign pin = clk ? high : low;
endmodule
