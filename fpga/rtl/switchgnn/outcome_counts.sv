// SPDX-License-Identifier: Apache-2.0
// Counts of 32 kinds of events, modulo 2^32.
module outcome_counts (
    input  wire        clk,
    input  wire        clearing,  // the count clear_at
    input  wire [ 4:0] clear_at,
    input  wire [ 4:0] what,
    input  wire        counted,
    input  wire [ 4:0] which,
    output reg  [31:0] count      // its count, a cycle later
);
  reg [31:0] counts[0:31];
  wire [31:0] more = counts[what] + 1'b1;
  always @(posedge clk) begin
    if (clearing || counted) counts[clearing ? clear_at : what] <= clearing ? 32'b0 : more;
    count <= counts[which];
  end
endmodule
