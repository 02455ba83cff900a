// SPDX-License-Identifier: Apache-2.0
// Volumes whose reads are under way: a second read of one waits until the first has written its bucket back. Claims are
// given back in their order.
module ebs_claims #(
    // Claims, a power of two, 2 or more.
    parameter FLIGHT = 16
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] volume,
    output wire        conflict,
    output wire        room,
    input  wire        claim,
    input  wire        release_first
);
  if (FLIGHT < 2 || (FLIGHT & (FLIGHT - 1)) != 0) begin : wrong_FLIGHT ebs_claims_needs_FLIGHT_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(FLIGHT);

  reg [32*FLIGHT-1:0] volumes;
  reg [FLIGHT-1:0] claimed;
  reg [BITS-1:0] next, first;

  reg [FLIGHT-1:0] equal;
  integer i;
  always @* for (i = 0; i < FLIGHT; i = i + 1) equal[i] = claimed[i] && volumes[32*i+:32] == volume;

  assign conflict = |equal;
  assign room     = !claimed[next];

  always @(posedge clk) begin
    // Place by place: an index that is shifted by is several levels deeper.
    for (i = 0; i < FLIGHT; i = i + 1) begin
      /* verilator lint_off WIDTHEXPAND */ if (claim && next == i) volumes[32*i+:32] <= volume; /* verilator lint_on WIDTHEXPAND */  // zero-extended
      /* verilator lint_off WIDTHEXPAND */ if (claim && next == i) claimed[i] <= 1'b1; /* verilator lint_on WIDTHEXPAND */  // zero-extended
      /* verilator lint_off WIDTHEXPAND */ else if (release_first && first == i) claimed[i] <= 1'b0; /* verilator lint_on WIDTHEXPAND */  // zero-extended
    end
    if (rst) begin
      claimed <= {FLIGHT{1'b0}};
      next    <= 0;
      first   <= 0;
    end else begin
      if (claim) next <= next + 1'b1;
      if (release_first) first <= first + 1'b1;
    end
  end
endmodule
