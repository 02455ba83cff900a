// SPDX-License-Identifier: Apache-2.0
// Grants packets round robin: a source keeps its turn until its packet's last beat.
module packet_turns #(
    // Sources, 2 or more.
    parameter COUNT = 2
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [COUNT-1:0] valid,
    input  wire             ends,   // a last beat is taken
    output wire [COUNT-1:0] turn    // of at most one
);
  reg [COUNT-1:0] holder;
  wire [COUNT-1:0] chosen;
  assign turn = |holder ? holder : chosen;

  arbiter #(
      .COUNT(COUNT)
  ) turns (
      .*,
      .request(|holder ? holder : valid),
      .grant(chosen),
      /* verilator lint_off PINCONNECTEMPTY */ .valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .taken(ends)
  );

  always @(posedge clk) holder <= rst || ends ? {COUNT{1'b0}} : turn;
endmodule
