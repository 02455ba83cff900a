// SPDX-License-Identifier: Apache-2.0
// Stands in for the synchroniser where something is proved: a bit that changes is seen at once or an edge later, each as
// it likes. That is what a flip-flop makes of an input which changes within its set-up time.
module synchroniser #(
    parameter WIDTH = 1
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] in,
    output reg  [WIDTH-1:0] out
);
  wire [WIDTH-1:0] late = $anyseq;
  reg [WIDTH-1:0] first, before;
  always @(posedge clk) begin
    before <= in;
    first  <= in & ~late | before & late;
    out    <= first;
  end
endmodule
