// SPDX-License-Identifier: Apache-2.0
// Number of leading zero bits; WIDTH if all are zero. Combinational: groups of four at once, then the first group
// that has a one, which is half of the levels of a chain of conditions.
module leading_zeros #(
    // Bits, 1 to 59.
    parameter WIDTH = 27
) (
    input  wire [WIDTH-1:0] bits,
    output wire [      5:0] zeros
);
  if (WIDTH < 1 || WIDTH > 59) begin : wrong_WIDTH leading_zeros_needs_WIDTH_from_1_to_59 refused (); end

  localparam GROUPS = WIDTH / 4 + 1;  // there is a place below the lowest bit
  wire [4*GROUPS-1:0] padded = {bits, {4 * GROUPS - WIDTH{1'b1}}};

  reg [GROUPS-1:0] some;
  reg [3:0] leading;
  reg [1:0] rest;
  integer n;
  always @* begin
    leading = 4'd0;
    rest = 2'd0;
    for (n = 0; n < GROUPS; n = n + 1) begin
      some[n] = |padded[4*n+:4];
      /* verilator lint_off WIDTHTRUNC */ if (some[n]) leading = GROUPS - 1 - n; /* verilator lint_on WIDTHTRUNC */  // the value fits
    end
    for (n = 0; n < GROUPS; n = n + 1)
      /* verilator lint_off WIDTHEXPAND */ if (leading == GROUPS - 1 - n) /* verilator lint_on WIDTHEXPAND */  // zero-extended
        rest = padded[4*n+3] ? 2'd0 : padded[4*n+2] ? 2'd1 : padded[4*n+1] ? 2'd2 : 2'd3;
  end
  assign zeros = {leading, rest};
endmodule
