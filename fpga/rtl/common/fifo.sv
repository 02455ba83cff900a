// SPDX-License-Identifier: Apache-2.0
// A queue of beats with its head in sight (first word falls through): what goes in is offered one cycle later.
module fifo #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 8,
    // Beats, a power of two, 2 or more.
    parameter DEPTH = 16
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [        WIDTH-1:0] in_data,
    input  wire                     in_valid,
    output wire                     in_ready,
    output wire [        WIDTH-1:0] out_data,
    output wire                     out_valid,
    input  wire                     out_ready,
    output wire [$clog2(DEPTH):0] level
);
  if (WIDTH < 1) begin : wrong_WIDTH fifo_needs_WIDTH_of_1_or_more refused (); end
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH fifo_needs_DEPTH_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(DEPTH);

  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [BITS:0] written, taken;  // one bit more than an address tells full from empty

  // Full where one is a round ahead of the other: a comparison, which is less deep than the difference.
  wire full = written == {!taken[BITS], taken[BITS-1:0]};

  assign level     = written - taken;
  assign in_ready  = !full;
  assign out_valid = written != taken;
  assign out_data  = memory[taken[BITS-1:0]];

  always @(posedge clk) begin
    if (in_valid && in_ready) memory[written[BITS-1:0]] <= in_data;
    if (rst) begin
      written <= 0;
      taken   <= 0;
    end else begin
      if (in_valid && in_ready) written <= written + 1'b1;
      if (out_valid && out_ready) taken <= taken + 1'b1;
    end
  end

`ifndef SYNTHESIS
  /* verilator lint_off WIDTHEXPAND */ always @(posedge clk) if (!rst) assert (level <= DEPTH); /* verilator lint_on WIDTHEXPAND */  // zero-extended
`endif
endmodule
