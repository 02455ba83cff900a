// SPDX-License-Identifier: Apache-2.0
// A pin that changes at both edges: what it was at a rising edge and at the falling edge after it, at the next rising
// edge. This one is for simulation; boards have one of their chip's (fpga/boards).
module ddr_in #(
    // Steps of the chip's delay; none here.
    parameter DELAY = 0
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
