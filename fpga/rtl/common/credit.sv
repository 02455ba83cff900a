// SPDX-License-Identifier: Apache-2.0
// Counts credits, so that everything that is started has room at its end.
module credit #(
    // Places at the end, 1 or more.
    parameter COUNT = 16
) (
    input  wire clk,
    input  wire rst,
    output wire available,
    input  wire take,  // only while available
    input  wire give
);
  if (COUNT < 1) begin : wrong_COUNT credit_needs_COUNT_of_1_or_more refused (); end

  localparam BITS = $clog2(COUNT + 1);

  reg [BITS-1:0] left;

  assign available = left != 0;

  always @(posedge clk) begin
    if (rst) left <= COUNT;
    else if (take && !give) left <= left - 1'b1;
    else if (give && !take) left <= left + 1'b1;
  end

`ifndef SYNTHESIS
  always @(posedge clk)
    if (!rst) begin
      assert (!(take && !available));
      assert (!(give && left == COUNT && !take));
    end
`endif
endmodule
