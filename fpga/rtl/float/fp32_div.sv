// SPDX-License-Identifier: Apache-2.0
// IEEE 754 division of binary32: to nearest even, subnormal numbers, one quiet NaN; a quotient a cycle, latency 31.
module fp32_div #(
    // Bits of b's significand from its highest one on; those below are zero. 2 to 24.
    parameter DIVISOR_BITS = 24
) (
    input  wire        clk,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output reg  [31:0] quotient
);
  if (DIVISOR_BITS < 2 || DIVISOR_BITS > 24) begin : wrong_DIVISOR_BITS fp32_div_needs_DIVISOR_BITS_from_2_to_24 refused (); end

  localparam [31:0] NAN = 32'h7FC00000;
  localparam DIGITS = 26;  // of the significand's quotient; what is left after them is the sticky bit

  function [4:0] zeros(input [23:0] x);
    integer i;
    begin
      zeros = 5'd24;
      /* verilator lint_off WIDTHTRUNC */ for (i = 0; i < 24; i = i + 1) if (x[i]) zeros = 23 - i; /* verilator lint_on WIDTHTRUNC */  // the value fits
    end
  endfunction

  // 1: significands, and how far those of subnormal numbers are from their first one.
  wire a_none = a[30:0] > 31'h7F800000, b_none = b[30:0] > 31'h7F800000;
  wire a_infinite = a[30:0] == 31'h7F800000, b_infinite = b[30:0] == 31'h7F800000;
  wire a_zero = a[30:0] == 0, b_zero = b[30:0] == 0;
  wire [23:0] one_a = {a[30:23] != 0, a[22:0]}, one_b = {b[30:23] != 0, b[22:0]};
  wire [7:0] exponent_a = a[30:23] == 0 ? 8'd1 : a[30:23];
  wire [7:0] exponent_b = b[30:23] == 0 ? 8'd1 : b[30:23];

  reg [23:0] dividend_1, divisor_1;
  reg [4:0] zeros_a, zeros_b;
  reg signed [9:0] exponent_1;
  reg [3:0] kind_1;  // sign, NaN, infinity, zero
  always @(posedge clk) begin
    dividend_1 <= one_a;
    divisor_1  <= one_b;
    zeros_a    <= zeros(one_a);
    zeros_b    <= zeros(one_b);
    exponent_1 <= {2'b0, exponent_a} - {2'b0, exponent_b} + 10'd127;
    kind_1     <= {
      a[31] ^ b[31],
      a_none || b_none || (a_infinite && b_infinite) || (a_zero && b_zero),
      a_infinite || b_zero,
      a_zero || b_infinite
    };
  end

  // 2: the highest bit of each is a one.
  reg [23:0] dividend_2, divisor_2;
  reg signed [9:0] exponent_2;
  reg [3:0] kind_2;
  always @(posedge clk) begin
    kind_2     <= kind_1;
    dividend_2 <= dividend_1 << zeros_a;
    divisor_2  <= divisor_1 << zeros_b;
    /* verilator lint_off WIDTHEXPAND */ exponent_2 <= exponent_1 - zeros_a + zeros_b; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  end

  // 3: the quotient's first digit is a one. Bits that are the same in every division have no registers, as a tool that
  // follows them from stage to stage takes minutes: the divisor's first one, and what is below LOW.
  localparam KEPT = DIVISOR_BITS - 1;
  localparam LOW = 24 - DIVISOR_BITS;
  wire less = dividend_2 < divisor_2;
  reg [24:0] rest_3;
  reg [KEPT-1:0] divisor_3;
  reg signed [9:0] exponent_3;
  reg [3:0] kind_3;
  always @(posedge clk) begin
    {kind_3, divisor_3} <= {kind_2, divisor_2[22-:KEPT]};
    rest_3     <= less ? {dividend_2, 1'b0} : {1'b0, dividend_2};
    exponent_3 <= exponent_2 - less;
  end

  // 4 to 29: one digit each.
  genvar n;
  generate
    for (n = 0; n < DIGITS; n = n + 1) begin : steps
      wire [DIVISOR_BITS:0] rest_in;
      wire [KEPT-1:0] divisor_in;
      wire next;  // of the dividend's bits below LOW
      wire [DIVISOR_BITS+1:0] less_divisor = {1'b0, rest_in} - {3'b1, divisor_in};
      reg [DIVISOR_BITS:0] rest;
      /* verilator lint_off UNUSEDSIGNAL */ reg [KEPT-1:0] divisor; /* verilator lint_on UNUSEDSIGNAL */  // the last one's
      reg [n:0] digits;
      if (n == 0) begin : first
        assign {rest_in, divisor_in} = {rest_3[24:LOW], divisor_3};
        always @(posedge clk) digits <= !less_divisor[DIVISOR_BITS+1];
      end else begin : later
        assign {rest_in, divisor_in} = {steps[n-1].rest, steps[n-1].divisor};
        always @(posedge clk) digits <= {steps[n-1].digits, !less_divisor[DIVISOR_BITS+1]};
      end
      if (n >= LOW) begin : no_more
        assign next = 1'b0;
      end else if (n == 0) begin : now
        assign next = rest_3[LOW-1];
      end else begin : still
        delay #(
            .WIDTH (1),
            .CYCLES(n)
        ) bits (
            .clk(clk),
            .in (rest_3[LOW-1-n]),
            .out(next)
        );
      end
      always @(posedge clk) begin
        rest <= {less_divisor[DIVISOR_BITS+1] ? rest_in[DIVISOR_BITS-1:0] : less_divisor[DIVISOR_BITS-1:0], next};
        divisor <= divisor_in;
      end
    end
  endgenerate

  wire signed [9:0] exponent;
  wire [3:0] kind;
  delay #(
      .WIDTH (14),
      .CYCLES(DIGITS)
  ) kinds (
      .clk(clk),
      .in ({kind_3, exponent_3}),
      .out({kind, exponent})
  );
  wire [26:0] total = {steps[DIGITS-1].digits, steps[DIGITS-1].rest != 0};

  // 30: shift right where the exponent is below 1.
  wire [9:0] away = 10'd1 - exponent;
  wire [4:0] right = exponent >= 1 ? 5'd0 : away > 31 ? 5'd31 : away[4:0];
  wire [26:0] shifted = total >> right;
  wire [26:0] lost = total & ~({27{1'b1}} << right);

  reg [26:0] total_30;
  reg [8:0] exponent_30;
  reg [3:0] kind_30;
  always @(posedge clk) begin
    total_30    <= {shifted[26:1], shifted[0] || lost != 0};
    exponent_30 <= exponent >= 1 ? exponent[8:0] : 9'd1;
    kind_30     <= kind;
  end

  // 31: round; a carry goes into the exponent, from subnormal to normal and from the greatest to infinity.
  wire up = total_30[2] && (total_30[3] || total_30[1:0] != 0);
  wire [30:0] rounded = {total_30[26] ? exponent_30[7:0] : 8'd0, total_30[25:3]} + up;
  wire beyond = kind_30[1] || (total_30[26] && exponent_30 >= 255);
  always @(posedge clk)
    quotient <= kind_30[2] ? NAN : {kind_30[3], kind_30[0] ? 31'd0 : beyond ? 31'h7F800000 : rounded};
endmodule
