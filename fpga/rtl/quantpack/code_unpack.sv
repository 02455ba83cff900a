// SPDX-License-Identifier: Apache-2.0
// Takes codes of 1, 2, 4 or 8 bits out of a line, the lowest bits first; latency 1.
module code_unpack #(
    // Codes that leave at once, a power of two; a line has 32 bits for each.
    parameter LANES = 16
) (
    input  wire                clk,
    input  wire                take,
    input  wire [         1:0] size,    // a code has 1 << size bits
    input  wire                begins,  // with the line that is here
    input  wire [32*LANES-1:0] line,
    output wire [ 8*LANES-1:0] codes
);
  if (LANES < 1 || (LANES & (LANES - 1)) != 0) begin : wrong_LANES code_unpack_needs_LANES_a_power_of_two_1_or_more refused (); end

  reg [32*LANES-1:0] left;
  reg [1:0] size_1;
  always @(posedge clk) begin
    if (take) size_1 <= size;
    if (take) left <= begins ? line : left >> (LANES << size_1);
  end

  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : lanes
      assign codes[8*n+:8] = size_1 == 0 ? {7'b0, left[n]}
          : size_1 == 1 ? {6'b0, left[2*n+:2]}
          : size_1 == 2 ? {4'b0, left[4*n+:4]} : left[8*n+:8];
    end
  endgenerate
endmodule
