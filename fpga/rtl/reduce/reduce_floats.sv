// SPDX-License-Identifier: Apache-2.0
// The sum of binary32 numbers as a balanced tree; 7 cycles of latency per level.
module reduce_floats #(
    // Number of inputs, a power of two from 2 on.
    parameter COUNT = 8
) (
    input  wire                clk,
    input  wire [32*COUNT-1:0] words,
    output wire [        31:0] sum
);
  if (COUNT < 2 || (COUNT & (COUNT - 1)) != 0) begin : wrong_COUNT reduce_floats_needs_COUNT_a_power_of_two_2_or_more refused (); end

  wire [(2*COUNT-1)*32-1:0] node;  // the first COUNT are the inputs, the last is the sum
  assign node[32*COUNT-1:0] = words;
  assign sum = node[(2*COUNT-2)*32+:32];

  genvar n;
  generate
    for (n = 0; n < COUNT - 1; n = n + 1) begin : adders
      fp32_add add (
          .clk(clk),
          .a  (node[2*n*32+:32]),
          .b  (node[(2*n+1)*32+:32]),
          .sum(node[(COUNT+n)*32+:32])
      );
    end
  endgenerate
endmodule
