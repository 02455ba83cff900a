// SPDX-License-Identifier: Apache-2.0
// Holds frames until they are known to be whole: beats come in at any time and are never refused; with a frame's last beat
// it is kept with its kind, or forgotten. A frame for which there is no room is forgotten, too.
module frame_store #(
    // Beats, a power of two, 128 or more.
    parameter DEPTH = 512
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  1:0] in_kind,   // 0: forget it
    input  wire         in_valid,
    output wire         overflow,  // a frame of a kind was forgotten
    output wire [127:0] out_data,
    output wire [  3:0] out_count,
    output wire         out_last,
    output wire [  1:0] out_kind,  // of the frame whose beats are offered
    output wire         out_valid,
    input  wire         out_ready
);
  if (DEPTH < 128 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH frame_store_needs_DEPTH_a_power_of_two_128_or_more refused (); end

  wire keep;
  frame_queue #(
      .WIDTH(132),
      .DEPTH(DEPTH)
  ) frames (
      .*,
      .in_data({in_count, in_data}),
      .in_keep(in_kind != 0),
      .in_alone(1'b0),
      /* verilator lint_off PINCONNECTEMPTY */ .room(), /* verilator lint_on PINCONNECTEMPTY */  // nobody can wait
      .kept(keep),
      .lost(overflow),
      .out_data({out_count, out_data})
  );

  // Of frames with four beats or more, each has a place here.
  fifo #(
      .WIDTH(2),
      .DEPTH(DEPTH / 2)
  ) kinds (
      .*,
      .in_data(in_kind),
      .in_valid(keep),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(out_kind),
      /* verilator lint_off PINCONNECTEMPTY */ .out_valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .out_ready(out_valid && out_ready && out_last),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
endmodule
