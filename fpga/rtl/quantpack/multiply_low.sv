// SPDX-License-Identifier: Apache-2.0
// The lower half of a product with a constant, from multipliers of 16 bits; a product a cycle, latency 3, or 4 of
// 64 bits.
module multiply_low #(
    // Bits, 32 or 64.
    parameter WIDTH = 32,
    // The constant factor, WIDTH bits.
    parameter [63:0] FACTOR = 64'd3
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] in,
    output reg  [WIDTH-1:0] product
);
  if (WIDTH != 32 && WIDTH != 64) begin : wrong_WIDTH multiply_low_needs_WIDTH_of_32_or_64 refused (); end

  localparam LIMBS = WIDTH / 16;

  genvar n, m;
  generate
    for (n = 0; n < LIMBS; n = n + 1) begin : rows
      // Products of neighbouring limbs overlap by half: those of even and of odd limbs are a number each.
      /* verilator lint_off UNUSEDSIGNAL */ wire [16*(LIMBS+2)-1:0] even, odd; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
      for (m = 0; m < LIMBS; m = m + 1) begin : limbs
        reg [31:0] piece;
        always @(posedge clk) piece <= in[16*m+:16] * FACTOR[16*n+:16];
        /* verilator lint_off WIDTHTRUNC */ if (m % 2) begin : high /* verilator lint_on WIDTHTRUNC */  // any bit of it
          assign odd[16*m+:32] = piece;
        end else begin : low
          assign even[16*m+:32] = piece;
        end
      end
      assign odd[15:0] = 0;
      assign odd[16*(LIMBS+2)-1:16*(LIMBS+1)] = 0;
      assign even[16*(LIMBS+2)-1:16*LIMBS] = 0;
      wire [WIDTH-1:0] limbs_added;
      wire unused_carry;
      wide_add #(
          .WIDTH(WIDTH)
      ) limbs_sum (
          .a(even[WIDTH-1:0]),
          .b(odd[WIDTH-1:0]),
          .sum({unused_carry, limbs_added})
      );
      reg [WIDTH-1:0] sum;
      always @(posedge clk) sum <= limbs_added << 16 * n;
    end
    if (LIMBS == 2) begin : two
      always @(posedge clk) product <= rows[0].sum + rows[1].sum;
    end else begin : four
      reg [WIDTH-1:0] lower, upper;
      wire [WIDTH-1:0] lower_sum, upper_sum, whole;
      wire [2:0] unused_carries;
      wide_add #(
          .WIDTH(WIDTH)
      ) lower_rows (
          .a(rows[0].sum),
          .b(rows[1].sum),
          .sum({unused_carries[0], lower_sum})
      );
      wide_add #(
          .WIDTH(WIDTH)
      ) upper_rows (
          .a(rows[2].sum),
          .b(rows[3].sum),
          .sum({unused_carries[1], upper_sum})
      );
      wide_add #(
          .WIDTH(WIDTH)
      ) all_rows (
          .a(lower),
          .b(upper),
          .sum({unused_carries[2], whole})
      );
      always @(posedge clk) begin
        {lower, upper} <= {lower_sum, upper_sum};
        product <= whole;
      end
    end
  endgenerate
endmodule
