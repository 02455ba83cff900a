// SPDX-License-Identifier: Apache-2.0
// A queue in block RAM with a registered head: what goes in is offered two cycles later, one beat a cycle.
module deep_fifo #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 72,
    // Beats in RAM, a power of two, 2 or more; one more waits at the head.
    parameter DEPTH = 512,
    // Beats that room speaks of, a power of two up to DEPTH / 2.
    parameter ROOM  = 64
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output wire             in_ready,
    output reg  [WIDTH-1:0] out_data,
    output reg              out_valid,
    input  wire             out_ready,
    output wire             room        // for ROOM beats at least
);
  if (WIDTH < 1) begin : wrong_WIDTH deep_fifo_needs_WIDTH_of_1_or_more refused (); end
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH deep_fifo_needs_DEPTH_a_power_of_two_2_or_more refused (); end
  if (ROOM < 1 || ROOM > DEPTH / 2 || (ROOM & (ROOM - 1)) != 0) begin : wrong_ROOM deep_fifo_needs_ROOM_a_power_of_two_up_to_half_of_DEPTH refused (); end

  localparam BITS = $clog2(DEPTH);
  localparam PIECE = $clog2(ROOM);

  (* ram_style = "block", no_rw_check *)  // what is fetched was written before
  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [BITS:0] written, taken;

  wire same = written[BITS-1:0] == taken[BITS-1:0];
  wire round = written[BITS] != taken[BITS];  // one is a round ahead of the other
  wire fetch = !(same && !round) && (!out_valid || out_ready);

  // Counted in pieces of ROOM beats, the lower bits left aside: says no a little early, which saves most of a subtractor.
  wire [BITS-PIECE:0] pieces = written[BITS:PIECE] - taken[BITS:PIECE];

  assign in_ready = !(same && round);
  /* verilator lint_off WIDTHEXPAND */ assign room     = pieces <= DEPTH / ROOM - 2; /* verilator lint_on WIDTHEXPAND */  // zero-extended

  always @(posedge clk) begin
    if (in_valid && in_ready) memory[written[BITS-1:0]] <= in_data;
    if (fetch) out_data <= memory[taken[BITS-1:0]];
    if (rst) begin
      written   <= 0;
      taken     <= 0;
      out_valid <= 1'b0;
    end else begin
      if (in_valid && in_ready) written <= written + 1'b1;
      if (fetch) taken <= taken + 1'b1;
      if (fetch || out_ready) out_valid <= fetch;
    end
  end

`ifndef SYNTHESIS
  wire [BITS:0] level = written - taken;
  always @(posedge clk)
    if (!rst) begin
      assert (level <= DEPTH);
      assert (!room || level <= DEPTH - ROOM);
    end
`endif
endmodule
