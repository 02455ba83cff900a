// SPDX-License-Identifier: Apache-2.0
// A sum whose carry runs through half of the bits: the upper half is added with a carry and without, and the lower half
// chooses (a carry-select adder). Combinational.
module wide_add #(
    // Bits, 2 or more.
    parameter WIDTH = 64
) (
    input  wire [WIDTH-1:0] a,
    input  wire [WIDTH-1:0] b,
    output wire [  WIDTH:0] sum
);
  if (WIDTH < 2) begin : wrong_WIDTH wide_add_needs_WIDTH_of_2_or_more refused (); end

  localparam LOW = WIDTH / 2;
  localparam HIGH = WIDTH - LOW;

  wire [HIGH:0] high_a = {1'b0, a[WIDTH-1:LOW]}, high_b = {1'b0, b[WIDTH-1:LOW]};
  wire [LOW:0] low = {1'b0, a[LOW-1:0]} + {1'b0, b[LOW-1:0]};
  wire [HIGH:0] without = high_a + high_b;
  // high_a + high_b + 1, so written that synthesis makes no adder of both with the carry at its begin.
  wire [HIGH:0] with_carry = ~(~high_a + ~high_b);

  assign sum = {low[LOW] ? with_carry : without, low[LOW-1:0]};
endmodule
