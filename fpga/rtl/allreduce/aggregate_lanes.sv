// SPDX-License-Identifier: Apache-2.0
// The sums of all slots: 64 lanes of 32 bits each, four in a beat. A beat a cycle; latency 2.
module aggregate_lanes #(
    // A power of two.
    parameter SLOTS = 256
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire [$clog2(SLOTS*16)-1:0] in_at,     // slot and beat in it
    input  wire [              127:0] in_lanes,  // as in a packet: most significant byte lowest
    input  wire                       in_set,    // they replace what was there
    input  wire                       in_add,    // they are added to it; with neither it is only read
    input  wire                       in_valid,
    output reg  [              127:0] out_lanes, // what there is then
    output reg                        out_valid
);
  localparam BITS = $clog2(SLOTS * 16);

  (* ram_style = "block" *)
  reg [127:0] memory[0:SLOTS*16-1];
  reg [127:0] held, lanes;
  reg [BITS-1:0] at;
  reg set, add, valid;

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
    if (valid && (set || add)) memory[at] <= result;
    {at, lanes, set, add} <= {in_at, in_lanes, in_set, in_add};
    valid     <= in_valid && !rst;
    out_lanes <= result;
    out_valid <= valid && !rst;
  end
endmodule
