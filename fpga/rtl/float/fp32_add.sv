// SPDX-License-Identifier: Apache-2.0
// IEEE 754 addition of binary32: to nearest even, subnormal numbers, one quiet NaN; a sum a cycle, latency 7.
module fp32_add (
    input  wire        clk,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output reg  [31:0] sum
);
  localparam [31:0] NAN = 32'h7FC00000;

  // 1: which magnitude is greater.
  reg [31:0] a_1, b_1;
  reg swap_1;
  always @(posedge clk) begin
    {a_1, b_1} <= {a, b};
    swap_1 <= a[30:0] < b[30:0];
  end

  // 2: that one first; exponents of subnormal numbers count as 1.
  wire [31:0] big = swap_1 ? b_1 : a_1;
  /* verilator lint_off UNUSEDSIGNAL */ wire [31:0] little = swap_1 ? a_1 : b_1; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  wire [7:0] big_exponent = big[30:23] == 0 ? 8'd1 : big[30:23];
  wire [7:0] small_exponent = little[30:23] == 0 ? 8'd1 : little[30:23];

  reg sign_2, subtract_2, special_2;
  reg [7:0] exponent_2, shift_2;
  reg [23:0] big_2, small_2;
  reg [31:0] value_2;  // the sum where it is NaN or infinity
  always @(posedge clk) begin
    sign_2     <= big[31];
    subtract_2 <= a_1[31] != b_1[31];
    exponent_2 <= big_exponent;
    shift_2    <= big_exponent - small_exponent;
    big_2      <= {big[30:23] != 0, big[22:0]};
    small_2    <= {little[30:23] != 0, little[22:0]};
    special_2  <= &big[30:23];
    value_2    <= big[22:0] != 0 || (&little[30:23] && a_1[31] != b_1[31]) ? NAN : big;
  end

  // 3: align the smaller one, with guard, round and sticky bits.
  wire [26:0] wide = {small_2, 3'b0};
  wire far = shift_2 > 26;
  wire [26:0] shifted = far ? 27'b0 : wide >> shift_2[4:0];
  wire [26:0] lost = far ? wide : wide & ~(~27'b0 << shift_2[4:0]);

  reg sign_3, subtract_3, special_3;
  reg [7:0] exponent_3;
  reg [26:0] big_3, small_3;
  reg [31:0] value_3;
  always @(posedge clk) begin
    {sign_3, subtract_3, special_3, exponent_3, value_3} <= {sign_2, subtract_2, special_2, exponent_2, value_2};
    big_3   <= {big_2, 3'b0};
    small_3 <= {shifted[26:1], shifted[0] | (lost != 0)};
  end

  // 4: add or subtract. The mark is a one where normalising must end, since the exponent allows no more.
  reg sign_4, special_4;
  reg [7:0] exponent_4;
  reg [27:0] total_4;
  reg [26:0] mark_4;
  reg [31:0] value_4;
  wire [27:0] total = subtract_3 ? {1'b0, big_3} - {1'b0, small_3} : {1'b0, big_3} + {1'b0, small_3};
  integer n;
  always @(posedge clk) begin
    {special_4, exponent_4, value_4} <= {special_3, exponent_3, value_3};
    total_4 <= total;
    /* verilator lint_off WIDTHEXPAND */ for (n = 0; n < 27; n = n + 1) mark_4[n] <= exponent_3 == 27 - n; /* verilator lint_on WIDTHEXPAND */  // zero-extended
    sign_4 <= sign_3 && !(subtract_3 && big_3 == small_3);  // x - x is +0
  end

  // 5: how far to normalise.
  /* verilator lint_off UNUSEDSIGNAL */ wire [5:0] zeros; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  leading_zeros #(
      .WIDTH(27)
  ) normal (
      .bits (total_4[26:0] | mark_4),
      .zeros(zeros)
  );
  reg sign_5, special_5;
  reg [7:0] exponent_5;
  reg [27:0] total_5;
  reg [4:0] left_5;  // 27 at most
  reg [31:0] value_5;
  always @(posedge clk) begin
    {sign_5, special_5, exponent_5, total_5, value_5} <= {sign_4, special_4, exponent_4, total_4, value_4};
    left_5 <= zeros[4:0];
  end

  // 6: normalise.
  reg sign_6, special_6;
  reg [7:0] exponent_6;
  reg [26:0] total_6;
  reg [31:0] value_6;
  always @(posedge clk) begin
    {sign_6, special_6, value_6} <= {sign_5, special_5, value_5};
    if (total_5[27]) begin
      total_6    <= {total_5[27:2], total_5[1] | total_5[0]};
      exponent_6 <= exponent_5 + 1'b1;
    end else begin
      total_6    <= total_5[26:0] << left_5;
      exponent_6 <= exponent_5 - {3'b0, left_5};
    end
  end

  // 7: round; a carry goes into the exponent, from subnormal to normal and from the greatest to infinity.
  wire up = total_6[2] && (total_6[3] || total_6[1:0] != 0);
  wire [7:0] biased = total_6[26] ? exponent_6 : 8'd0;
  /* verilator lint_off VARHIDDEN */ wire [30:0] rounded = {biased, total_6[25:3]} + {30'b0, up}; /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
  always @(posedge clk)
    sum <= special_6 ? value_6 : &biased ? {sign_6, 8'hFF, 23'b0} : {sign_6, rounded};
endmodule
