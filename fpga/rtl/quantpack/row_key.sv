// SPDX-License-Identifier: Apache-2.0
// The two keys of a row's random numbers: SplitMix64 of seed and row (offramp.sylvie.streams); a row a cycle,
// latency 15.
module row_key (
    input  wire        clk,
    input  wire [63:0] seed,
    input  wire [63:0] row,
    output reg  [63:0] key
);
  reg [63:0] next;  // 1
  wire [63:0] following;
  wire [1:0] unused_carries;
  wide_add one_more (
      .a(row),
      .b(64'd1),
      .sum({unused_carries[0], following})
  );
  always @(posedge clk) next <= following;

  wire [63:0] late_seed, place;  // 5
  delay #(
      .WIDTH (64),
      .CYCLES(5)
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

  reg  [63:0] word;  // 6
  wire [63:0] seeded;
  wire [63:0] first, second;  // 10, 14
  wide_add seeding (
      .a(place),
      .b(late_seed),
      .sum({unused_carries[1], seeded})
  );
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
    word <= seeded;
    key  <= second ^ (second >> 31);
  end
endmodule
