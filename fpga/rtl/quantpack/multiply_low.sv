// SPDX-License-Identifier: Apache-2.0
// The lower half of a product with a constant, from multipliers of 16 bits; a product a cycle, latency 3.
module multiply_low #(
    // Bits, a multiple of 32.
    parameter WIDTH = 32,
    // What is multiplied with, WIDTH bits.
    parameter [63:0] FACTOR = 64'd3
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] in,
    output reg  [WIDTH-1:0] product
);
  localparam LIMBS = WIDTH / 16;

  genvar n, m;
  generate
    for (n = 0; n < LIMBS; n = n + 1) begin : rows
      // Products of neighbouring limbs overlap by half: those of even and of odd limbs are a number each.
      wire [16*(LIMBS+2)-1:0] even, odd;
      for (m = 0; m < LIMBS; m = m + 1) begin : limbs
        reg [31:0] piece;
        always @(posedge clk) piece <= in[16*m+:16] * FACTOR[16*n+:16];
        if (m % 2) begin : high
          assign odd[16*m+:32] = piece;
        end else begin : low
          assign even[16*m+:32] = piece;
        end
      end
      assign odd[15:0] = 0;
      assign odd[16*(LIMBS+2)-1:16*(LIMBS+1)] = 0;
      assign even[16*(LIMBS+2)-1:16*LIMBS] = 0;
      reg [WIDTH-1:0] sum;
      always @(posedge clk) sum <= (even + odd) << 16 * n;
    end
    if (LIMBS == 2) begin : two
      always @(posedge clk) product <= rows[0].sum + rows[1].sum;
    end else begin : four
      always @(posedge clk) product <= (rows[0].sum + rows[1].sum) + (rows[2].sum + rows[3].sum);
    end
  endgenerate

`ifndef SYNTHESIS
  initial if (WIDTH != 32 && WIDTH != 64) $fatal(1, "multiply_low: WIDTH %0d", WIDTH);
`endif
endmodule
