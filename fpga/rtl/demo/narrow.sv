// SPDX-License-Identifier: Apache-2.0
// An engine's answers in beats half as wide, the lower half first; a completion, which ends each, is one such beat. Of an
// answer that is longer than its place the rest is dropped, and it completes with OUT_OF_BOUNDS.
module narrow #(
    // Bits of a beat that goes out, a multiple of 8, 128 or more.
    parameter WIDTH = 128,
    // Beats that come in before the completion and have a place.
    parameter MOST  = 44
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [2*WIDTH-1:0] in_data,
    input  wire               in_last,
    input  wire               in_valid,
    output wire               in_ready,
    output wire [  WIDTH-1:0] out_data,
    output wire               out_last,
    output wire               out_valid,
    input  wire               out_ready
);
  if (WIDTH < 128 || WIDTH % 8 != 0) begin : wrong_WIDTH narrow_needs_WIDTH_a_multiple_of_8_128_or_more refused (); end
  if (MOST < 1) begin : wrong_MOST narrow_needs_MOST_of_1_or_more refused (); end

  reg upper;     // the lower half has left
  reg too_long;  // beats of this answer were dropped
  reg [$clog2(MOST+1)-1:0] count;

  /* verilator lint_off WIDTHEXPAND */ wire drop = in_valid && !in_last && count == MOST; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  wire given = out_valid && out_ready;
  wire good = in_data[7:0] == device_pkg::OK;
  wire [WIDTH-1:0] completion = too_long && good ? {in_data[WIDTH-1:64], 56'b0, device_pkg::OUT_OF_BOUNDS} : in_data[WIDTH-1:0];
  assign out_valid = in_valid && !drop;
  assign out_last  = in_last;
  assign out_data  = in_last ? completion : upper ? in_data[2*WIDTH-1:WIDTH] : in_data[WIDTH-1:0];
  assign in_ready  = drop || (out_ready && (in_last || upper));

  always @(posedge clk)
    if (rst || (given && in_last)) begin
      upper    <= 1'b0;
      too_long <= 1'b0;
      count    <= 0;
    end else begin
      if (given) upper <= !upper;
      if (given && upper) count <= count + 1'b1;
      if (drop) too_long <= 1'b1;
    end
endmodule
