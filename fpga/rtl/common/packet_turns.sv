// SPDX-License-Identifier: Apache-2.0
// Grants packets round robin, from a register: a source keeps its turn until its packet's last beat, in whose cycle the
// next one is chosen. A source that waits alone has a cycle without a turn between its packets.
module packet_turns #(
    // Sources, 2 or more.
    parameter COUNT = 2
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [COUNT-1:0] valid,
    input  wire             ends,   // a last beat is taken
    output reg  [COUNT-1:0] turn    // of at most one
);
  wire choosing = turn == 0 || ends;
  wire [COUNT-1:0] chosen;

  arbiter #(
      .COUNT(COUNT)
  ) turns (
      .*,
      .request(valid & ~turn),
      .grant(chosen),
      /* verilator lint_off PINCONNECTEMPTY */ .valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .taken(choosing)
  );

  always @(posedge clk)
    if (rst) turn <= {COUNT{1'b0}};
    else if (choosing) turn <= chosen;
endmodule
