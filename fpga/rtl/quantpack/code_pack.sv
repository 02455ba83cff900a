// SPDX-License-Identifier: Apache-2.0
// Packs codes of 1, 2, 4 or 8 bits, the first into the lowest bits of a line; latency 1.
module code_pack #(
    // Codes per cycle, a power of two; a line has 32 bits for each.
    parameter LANES = 16
) (
    input  wire                clk,
    input  wire                put,
    input  wire [         1:0] size,   // a code has 1 << size bits
    input  wire [         4:0] place,  // 0 begins a line
    input  wire [ 8*LANES-1:0] codes,
    output reg  [32*LANES-1:0] line
);
  if (LANES < 1 || (LANES & (LANES - 1)) != 0) begin : wrong_LANES code_pack_needs_LANES_a_power_of_two_1_or_more refused (); end

  wire [LANES-1:0] ones;
  wire [2*LANES-1:0] pairs;
  wire [4*LANES-1:0] nibbles;
  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : lanes
      assign ones[n] = codes[8*n];
      assign pairs[2*n+:2] = codes[8*n+:2];
      assign nibbles[4*n+:4] = codes[8*n+:4];
    end
    for (n = 0; n < 32; n = n + 1) begin : pieces
      // A line's n-th piece, of LANES bits.
      localparam [4:0] PIECE = n;
      wire mine = place == PIECE >> size;
      wire [LANES-1:0] piece = size == 0 ? ones
          : size == 1 ? pairs[(n%2)*LANES+:LANES]
          : size == 2 ? nibbles[(n%4)*LANES+:LANES] : codes[(n%8)*LANES+:LANES];
      always @(posedge clk)
        if (put && mine) line[n*LANES+:LANES] <= piece;
        else if (put && place == 0) line[n*LANES+:LANES] <= {LANES{1'b0}};
    end
  endgenerate
endmodule
