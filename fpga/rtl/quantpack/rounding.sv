// SPDX-License-Identifier: Apache-2.0
// The fractions added before a row's codes are truncated: binary32 in (0, 1) for each lane, by place (model:
// offramp.sylvie.streams); a beat a cycle, latency 14.
//
// 32 columns share 16 words; the lower halves are for the first 16 of them, the upper ones for the others.
module rounding #(
    // Values of a beat, 8 or 16.
    parameter LANES = 16
) (
    input  wire                clk,
    input  wire [        63:0] key,
    input  wire [        15:0] beat,      // of the row
    output wire [32*LANES-1:0] fractions
);
  if (LANES != 8 && LANES != 16) begin : wrong_LANES rounding_needs_LANES_of_8_or_16 refused (); end

  localparam BITS = $clog2(LANES);

  wire [15+BITS:0] column = {beat, {BITS{1'b0}}};
  /* verilator lint_off WIDTHEXPAND */ wire [31:0] place = {column[15+BITS:5], column[3:0]}; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  wire [31:0] product;  // 3
  multiply_low #(
      .WIDTH (32),
      .FACTOR(64'h9E3779B9)
  ) places (
      .*,
      .in(place)
  );

  wire [31:0] low_key, high_key;  // 3, 8
  delay #(
      .WIDTH (32),
      .CYCLES(3)
  ) low_keys (
      .clk(clk),
      .in (key[31:0]),
      .out(low_key)
  );
  delay #(
      .WIDTH (32),
      .CYCLES(8)
  ) high_keys (
      .clk(clk),
      .in (key[63:32]),
      .out(high_key)
  );
  wire upper;  // 11
  delay #(
      .WIDTH (1),
      .CYCLES(11)
  ) halves (
      .clk(clk),
      .in (column[4]),
      .out(upper)
  );

  reg [31:0] base;  // 4
  always @(posedge clk) base <= product + low_key;

  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : lanes
      localparam [31:0] STEP = n * 32'h9E3779B9;
      reg  [31:0] word;  // 5
      wire [31:0] first, second;  // 8, 11
      multiply_low #(
          .WIDTH (32),
          .FACTOR(64'h7FEB352D)
      ) mix_first (
          .clk(clk),
          .in(word ^ (word >> 16)),
          .product(first)
      );
      wire [31:0] keyed = first ^ high_key;
      multiply_low #(
          .WIDTH (32),
          .FACTOR(64'h846CA68B)
      ) mix_second (
          .clk(clk),
          .in(keyed ^ (keyed >> 15)),
          .product(second)
      );
      wire [31:0] mixed = second ^ (second >> 16);
      /* verilator lint_off UNUSEDSIGNAL */ reg [16:0] half, half_13; /* verilator lint_on UNUSEDSIGNAL */  // 12: sixteen bits and a one below them, so that the mean is 1/2; the other bits are not needed
      reg [4:0] zeros, zeros_13;
      reg [15:0] shifted;  // the one at the top left out
      reg [31:0] fraction;
      integer i;
      always @* begin
        zeros = 5'd16;
        /* verilator lint_off WIDTHTRUNC */ for (i = 1; i < 17; i = i + 1) if (half[i]) zeros = 16 - i; /* verilator lint_on WIDTHTRUNC */  // the value fits
        shifted = half_13[15:0] << zeros_13;
      end
      always @(posedge clk) begin
        word <= base + STEP;
        half <= {upper ? mixed[31:16] : mixed[15:0], 1'b1};
        {half_13, zeros_13} <= {half, zeros};
        fraction <= {1'b0, 8'd126 - {3'b0, zeros_13}, shifted, 7'b0};
      end
      assign fractions[32*n+:32] = fraction;
    end
  endgenerate
endmodule
