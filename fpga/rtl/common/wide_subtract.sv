// SPDX-License-Identifier: Apache-2.0
// A difference whose borrow runs through half of the bits, as wide_add's carry does. Combinational.
module wide_subtract #(
    // Bits, 2 or more.
    parameter WIDTH = 64
) (
    input  wire [WIDTH-1:0] a,
    input  wire [WIDTH-1:0] b,
    output wire [WIDTH-1:0] difference,
    output wire             borrow       // a is less than b
);
  if (WIDTH < 2) begin : wrong_WIDTH wide_subtract_needs_WIDTH_of_2_or_more refused (); end

  localparam LOW = WIDTH / 2;
  localparam HIGH = WIDTH - LOW;

  wire [HIGH:0] high_a = {1'b0, a[WIDTH-1:LOW]}, high_b = {1'b0, b[WIDTH-1:LOW]};
  wire [LOW:0] low = {1'b0, a[LOW-1:0]} - {1'b0, b[LOW-1:0]};
  wire [HIGH:0] without = high_a - high_b;
  wire [HIGH:0] with_borrow = ~(high_b - high_a);  // high_a - high_b - 1

  assign {borrow, difference} = {low[LOW] ? with_borrow : without, low[LOW-1:0]};
endmodule
