// SPDX-License-Identifier: Apache-2.0
// The two keys of a row's random numbers: SplitMix64 of seed and row (offramp.sylvie.streams); a row a cycle,
// latency 12.
module row_key (
    input  wire        clk,
    input  wire [63:0] seed,
    input  wire [63:0] row,
    output reg  [63:0] key
);
  reg [63:0] next;  // 1
  always @(posedge clk) next <= row + 1'b1;

  wire [63:0] late_seed, place;  // 4
  delay #(
      .WIDTH (64),
      .CYCLES(4)
  ) seeds (
      .clk(clk),
      .in (seed),
      .out(late_seed)
  );
  multiply_low #(
      .WIDTH (64),
      .FACTOR(64'h9E3779B97F4A7C15)
  ) golden (
      .clk(clk),
      .in(next),
      .product(place)
  );

  reg  [63:0] word;  // 5
  wire [63:0] first, second;  // 8, 11
  multiply_low #(
      .WIDTH (64),
      .FACTOR(64'hBF58476D1CE4E5B9)
  ) mix_first (
      .clk(clk),
      .in(word ^ (word >> 30)),
      .product(first)
  );
  multiply_low #(
      .WIDTH (64),
      .FACTOR(64'h94D049BB133111EB)
  ) mix_second (
      .clk(clk),
      .in(first ^ (first >> 27)),
      .product(second)
  );

  always @(posedge clk) begin
    word <= place + late_seed;
    key  <= second ^ (second >> 31);
  end
endmodule
