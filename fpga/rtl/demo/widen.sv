// SPDX-License-Identifier: Apache-2.0
// Two beats of a packet as one, the first in the lower half; an odd last one alone.
module widen #(
    // Bits of a beat that comes in, a multiple of 8.
    parameter WIDTH = 128
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [  WIDTH-1:0] in_data,
    input  wire [WIDTH/8-1:0] in_keep,
    input  wire               in_last,
    input  wire               in_valid,
    output wire               in_ready,
    output reg  [2*WIDTH-1:0] out_data,
    output reg  [WIDTH/4-1:0] out_keep,
    output reg                out_last,
    output reg                out_valid,
    input  wire               out_ready
);
  if (WIDTH < 8 || WIDTH % 8 != 0) begin : wrong_WIDTH widen_needs_WIDTH_a_multiple_of_8_8_or_more refused (); end

  reg half;  // the lower half is here, and waits for the other

  assign in_ready = !out_valid || out_ready;
  wire taken = in_valid && in_ready;

  always @(posedge clk) begin
    if (taken) begin
      out_last <= in_last;
      if (half) {out_keep[WIDTH/4-1:WIDTH/8], out_data[2*WIDTH-1:WIDTH]} <= {in_keep, in_data};
      else {out_keep, out_data[WIDTH-1:0]} <= {{WIDTH / 8{1'b0}}, in_keep, in_data};
    end
    if (rst) begin
      half      <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (taken) half <= !half && !in_last;
      if (in_ready) out_valid <= taken && (half || in_last);
    end
  end
endmodule
