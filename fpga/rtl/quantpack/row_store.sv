// SPDX-License-Identifier: Apache-2.0
// Keeps beats of rows in block RAM until they are read; beats of an unfinished row can be taken back.
module row_store #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 512,
    // Beats, a power of two, 4 or more.
    parameter DEPTH = 1024
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             put,
    input  wire             last,     // the row is whole
    input  wire             drop,     // back to the last whole row
    input  wire [WIDTH-1:0] in_data,
    output wire             room,     // for two beats: one may be on its way
    input  wire             take,     // the next beat of a whole row
    output reg  [WIDTH-1:0] out_data  // a cycle later
);
  if (WIDTH < 1) begin : wrong_WIDTH row_store_needs_WIDTH_of_1_or_more refused (); end
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH row_store_needs_DEPTH_a_power_of_two_4_or_more refused (); end

  localparam BITS = $clog2(DEPTH);

  (* ram_style = "block", no_rw_check *)  // what is taken was put before
  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [BITS:0] written, whole, taken;

  wire [BITS:0] level = written - taken;
  /* verilator lint_off WIDTHEXPAND */ assign room = level < DEPTH - 2; /* verilator lint_on WIDTHEXPAND */  // zero-extended

  always @(posedge clk) begin
    if (put) memory[written[BITS-1:0]] <= in_data;
    if (take) out_data <= memory[taken[BITS-1:0]];
    if (rst) begin
      written <= 0;
      whole   <= 0;
      taken   <= 0;
    end else begin
      if (drop) written <= whole;
      else if (put) written <= written + 1'b1;
      if (put && last) whole <= written + 1'b1;
      if (take) taken <= taken + 1'b1;
    end
  end

`ifndef SYNTHESIS
  wire [BITS:0] ready = whole - taken;
  always @(posedge clk)
    if (!rst) begin
      /* verilator lint_off WIDTHEXPAND */ assert (level <= DEPTH); /* verilator lint_on WIDTHEXPAND */  // zero-extended
      assert (!(put && drop));
      assert (!(take && ready == 0));
    end
`endif
endmodule
