// SPDX-License-Identifier: Apache-2.0
// IEEE 754 addition of binary32: to nearest even, subnormal numbers, one quiet NaN; a sum a cycle, latency 5.
module fp32_add (
    input  wire        clk,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output reg  [31:0] sum
);
  localparam [31:0] NAN = 32'h7FC00000;

  // 1: the greater magnitude first; exponents of subnormal numbers count as 1.
  wire swap = a[30:0] < b[30:0];
  wire [31:0] big = swap ? b : a;
  wire [31:0] little = swap ? a : b;
  wire [7:0] big_exponent = big[30:23] == 0 ? 8'd1 : big[30:23];
  wire [7:0] small_exponent = little[30:23] == 0 ? 8'd1 : little[30:23];

  reg sign_1, subtract_1, special_1;
  reg [7:0] exponent_1, shift_1;
  reg [23:0] big_1, small_1;
  reg [31:0] value_1;  // the sum where it is NaN or infinity
  always @(posedge clk) begin
    sign_1     <= big[31];
    subtract_1 <= a[31] != b[31];
    exponent_1 <= big_exponent;
    shift_1    <= big_exponent - small_exponent;
    big_1      <= {big[30:23] != 0, big[22:0]};
    small_1    <= {little[30:23] != 0, little[22:0]};
    special_1  <= &big[30:23];
    value_1    <= big[22:0] != 0 || (&little[30:23] && a[31] != b[31]) ? NAN : big;
  end

  // 2: align the smaller one, with guard, round and sticky bits.
  wire [26:0] wide = {small_1, 3'b0};
  wire far = shift_1 > 26;
  wire [26:0] shifted = far ? 27'b0 : wide >> shift_1[4:0];
  wire [26:0] lost = far ? wide : wide & ~(~27'b0 << shift_1[4:0]);

  reg sign_2, subtract_2, special_2;
  reg [7:0] exponent_2;
  reg [26:0] big_2, small_2;
  reg [31:0] value_2;
  always @(posedge clk) begin
    {sign_2, subtract_2, special_2, exponent_2, value_2} <= {sign_1, subtract_1, special_1, exponent_1, value_1};
    big_2   <= {big_1, 3'b0};
    small_2 <= {shifted[26:1], shifted[0] | (lost != 0)};
  end

  // 3: add or subtract.
  reg sign_3, special_3;
  reg [7:0] exponent_3;
  reg [27:0] total_3;
  reg [31:0] value_3;
  wire [27:0] total = subtract_2 ? {1'b0, big_2} - {1'b0, small_2} : {1'b0, big_2} + {1'b0, small_2};
  always @(posedge clk) begin
    {special_3, exponent_3, value_3} <= {special_2, exponent_2, value_2};
    total_3 <= total;
    sign_3  <= sign_2 && !(subtract_2 && big_2 == small_2);  // x - x is +0
  end

  // 4: normalise as far as the exponent allows.
  reg [4:0] zeros;
  integer i;
  always @* begin
    zeros = 5'd27;
    for (i = 0; i < 27; i = i + 1) if (total_3[i]) zeros = 26 - i;
  end
  wire [7:0] room = exponent_3 - 1'b1;
  wire [4:0] left = room < zeros ? room[4:0] : zeros;

  reg sign_4, special_4;
  reg [7:0] exponent_4;
  reg [26:0] total_4;
  reg [31:0] value_4;
  always @(posedge clk) begin
    {sign_4, special_4, value_4} <= {sign_3, special_3, value_3};
    if (total_3[27]) begin
      total_4    <= {total_3[27:2], total_3[1] | total_3[0]};
      exponent_4 <= exponent_3 + 1'b1;
    end else begin
      total_4    <= total_3[26:0] << left;
      exponent_4 <= exponent_3 - left;
    end
  end

  // 5: round; a carry goes into the exponent, from subnormal to normal and from the greatest to infinity.
  wire up = total_4[2] && (total_4[3] || total_4[1:0] != 0);
  wire [7:0] biased = total_4[26] ? exponent_4 : 8'd0;
  wire [30:0] rounded = {biased, total_4[25:3]} + up;
  always @(posedge clk)
    sum <= special_4 ? value_4 : &biased ? {sign_4, 8'hFF, 23'b0} : {sign_4, rounded};
endmodule
