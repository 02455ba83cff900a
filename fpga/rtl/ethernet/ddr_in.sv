// SPDX-License-Identifier: Apache-2.0
// A pin that changes at both edges: what it was at a rising edge and at the falling edge after it, at the next rising
// edge. This one is for simulation; boards have one of their chip's (fpga/boards).
module ddr_in #(
    // Steps of the chip's delay; none here.
    /* verilator lint_off UNUSEDPARAM */ parameter DELAY = 0 /* verilator lint_on UNUSEDPARAM */  // for ports like the board cell.s
) (
    input  wire clk,
    input  wire pin,
    output reg  first,
    output reg  second
);
  reg rising, falling;
  always @(posedge clk) rising <= pin;
  always @(negedge clk) falling <= pin;
  always @(posedge clk) begin
    first  <= rising;
    second <= falling;
  end
endmodule
