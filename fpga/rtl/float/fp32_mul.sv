// SPDX-License-Identifier: Apache-2.0
// IEEE 754 multiplication of binary32: to nearest even, subnormal numbers, one quiet NaN; a product a cycle, latency 6.
module fp32_mul (
    input  wire        clk,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output reg  [31:0] product
);
  localparam [31:0] NAN = 32'h7FC00000;

  // 1: significands as they are; exponents of subnormal numbers count as 1.
  wire [7:0] exponent_a = a[30:23] == 0 ? 8'd1 : a[30:23];
  wire [7:0] exponent_b = b[30:23] == 0 ? 8'd1 : b[30:23];
  wire sign = a[31] ^ b[31];
  wire infinite = a[30:0] == 31'h7F800000 || b[30:0] == 31'h7F800000;
  wire none = a[30:0] > 31'h7F800000 || b[30:0] > 31'h7F800000 || (infinite && (a[30:0] == 0 || b[30:0] == 0));

  reg [23:0] significand_a, significand_b;
  reg signed [9:0] exponent_1;  // where the highest of 48 bits is a one
  reg [31:0] value_1;  // the product where it is NaN or infinity
  reg special_1, sign_1;
  always @(posedge clk) begin
    significand_a <= {a[30:23] != 0, a[22:0]};
    significand_b <= {b[30:23] != 0, b[22:0]};
    exponent_1    <= {2'b0, exponent_a} + {2'b0, exponent_b} - 10'd126;
    special_1     <= infinite || none;
    sign_1        <= sign;
    value_1       <= none ? NAN : {sign, 31'h7F800000};
  end

  // 2 and 3: the product, with a register for the multiplier's inside.
  reg [47:0] bits_2, bits_3;
  reg signed [9:0] exponent_2, exponent_3;
  reg [31:0] value_2, value_3;
  reg special_2, special_3, sign_2, sign_3;
  reg [47:0] mark_3;  // a one where the exponent allows no further shift to the left
  integer n;
  always @(posedge clk) begin
    bits_2 <= significand_a * significand_b;
    bits_3 <= bits_2;
    {special_2, sign_2, value_2, exponent_2} <= {special_1, sign_1, value_1, exponent_1};
    {special_3, sign_3, value_3, exponent_3} <= {special_2, sign_2, value_2, exponent_2};
    mark_3[47] <= exponent_2 <= 1;
    /* verilator lint_off WIDTHEXPAND */ for (n = 0; n < 47; n = n + 1) mark_3[n] <= exponent_2 == 48 - n; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  end

  // 4: how far to shift: left to the first one as far as the exponent allows, right where it is below 1.
  wire [5:0] left;
  leading_zeros #(
      .WIDTH(48)
  ) normal (
      .bits (bits_3 | mark_3),
      .zeros(left)
  );
  wire below = exponent_3 < 1;
  wire [9:0] away = 10'd1 - exponent_3;

  reg [47:0] bits_4;
  reg [5:0] left_4;
  reg [4:0] right_4;  // 31 takes every bit that counts
  reg [8:0] exponent_4;
  reg [31:0] value_4;
  reg special_4, sign_4;
  always @(posedge clk) begin
    {special_4, sign_4, value_4, bits_4} <= {special_3, sign_3, value_3, bits_3};
    left_4     <= left;
    right_4    <= !below ? 5'd0 : away > 31 ? 5'd31 : away[4:0];
    exponent_4 <= below ? 9'd1 : exponent_3[8:0];
  end

  // 5: shift, with guard, round and sticky bits.
  wire [47:0] moved = bits_4 << left_4;  // nothing moves both ways
  wire [25:0] shifted = bits_4[47:22] >> right_4;
  wire [25:0] lost = bits_4[47:22] & ~({26{1'b1}} << right_4);
  wire rightwards = right_4 != 0;

  reg [26:0] total_5;
  reg [8:0] exponent_5;
  reg [31:0] value_5;
  reg special_5, sign_5;
  always @(posedge clk) begin
    {special_5, sign_5, value_5} <= {special_4, sign_4, value_4};
    exponent_5 <= exponent_4 - {3'b0, left_4};
    total_5 <= rightwards ? {shifted, bits_4[21:0] != 0 || lost != 0} : {moved[47:22], moved[21:0] != 0};
  end

  // 6: round; a carry goes into the exponent, from subnormal to normal and from the greatest to infinity.
  wire up = total_5[2] && (total_5[3] || total_5[1:0] != 0);
  wire [30:0] rounded = {total_5[26] ? exponent_5[7:0] : 8'd0, total_5[25:3]} + up;
  always @(posedge clk)
    product <= special_5 ? value_5 : total_5[26] && exponent_5 >= 255 ? {sign_5, 31'h7F800000} : {sign_5, rounded};
endmodule
