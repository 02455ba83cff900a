// SPDX-License-Identifier: Apache-2.0
// Delays a value by CYCLES cycles; without a reset, so that it becomes shift registers.
module delay #(
    // Bits, 1 or more.
    parameter WIDTH  = 8,
    // 1 or more.
    parameter CYCLES = 4
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);
  if (WIDTH < 1) begin : wrong_WIDTH delay_needs_WIDTH_of_1_or_more refused (); end
  if (CYCLES < 1) begin : wrong_CYCLES delay_needs_CYCLES_of_1_or_more refused (); end

  reg [WIDTH*CYCLES-1:0] line;
  assign out = line[WIDTH*CYCLES-1-:WIDTH];
  /* verilator lint_off WIDTHTRUNC */ always @(posedge clk) line <= {line, in}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
endmodule
