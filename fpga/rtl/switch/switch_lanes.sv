// SPDX-License-Identifier: Apache-2.0
// The sums of a switch: lanes of 32 bits, four in a beat. A beat a cycle; latency 2.
module switch_lanes #(
    // Beats of all sums, a power of two.
    parameter DEPTH = 4096
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire [$clog2(DEPTH)-1:0] in_at,     // sum and beat in it
    input  wire [              127:0] in_lanes,  // as in a packet: most significant byte lowest
    input  wire                       in_set,    // they take the place of what was there
    input  wire                       in_add,    // they are added to it; with neither it is only read
    input  wire                       in_store,  // what there is then is kept
    input  wire                       in_valid,
    output reg  [              127:0] out_lanes, // what there is then
    output reg                        out_valid
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH switch_lanes_needs_DEPTH_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(DEPTH);

  (* ram_style = "block" *)
  reg [127:0] memory[0:DEPTH-1];
  reg [127:0] held, lanes;
  reg [BITS-1:0] at;
  reg set, add, store, valid;

  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  wire [127:0] sum;
  genvar g;
  generate
    for (g = 0; g < 4; g = g + 1) begin : adders
      assign sum[g*32+:32] = swap_word(swap_word(held[g*32+:32]) + swap_word(lanes[g*32+:32]));
    end
  endgenerate
  wire [127:0] result = set ? lanes : add ? sum : held;

  always @(posedge clk) begin
    if (in_valid) held <= memory[in_at];
    if (valid && store) memory[at] <= result;
    {at, lanes, set, add, store} <= {in_at, in_lanes, in_set, in_add, in_store};
    valid     <= in_valid && !rst;
    out_lanes <= result;
    out_valid <= valid && !rst;
  end
endmodule
