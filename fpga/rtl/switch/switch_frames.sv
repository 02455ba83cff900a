// SPDX-License-Identifier: Apache-2.0
// The packets of a protocol for this switch, whole, one after the other, out of what a MAC receives.
module switch_frames #(
    // Parameters of switch_check.
    parameter [ 7:0] PROTOCOL     = 8'd254,
    parameter [10:0] HEADER_BYTES = 11'd54,
    parameter [10:0] FRAME_BYTES  = 11'd310
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  2:0] in_fault,
    input  wire         in_valid,
    output wire         mine,       // with a last beat, a cycle after it came: the frame is the switch's
    output wire         overflow,   // and had no room
    output wire [127:0] out_data,
    output wire         out_last,
    output wire         out_whole,  // the frame has all of its lanes
    output wire         out_valid,
    input  wire         out_ready
);
  wire [127:0] judged_data;
  wire [3:0] judged_count;
  wire judged_last, judged_valid;
  wire [1:0] judged_kind, kind;
  assign mine      = judged_valid && judged_last && judged_kind != 0;
  assign out_whole = kind == 2;
  switch_check #(
      .PROTOCOL(PROTOCOL),
      .HEADER_BYTES(HEADER_BYTES),
      .FRAME_BYTES(FRAME_BYTES)
  ) check (
      .*,
      .out_data(judged_data),
      .out_count(judged_count),
      .out_last(judged_last),
      .out_valid(judged_valid),
      .out_kind(judged_kind)
  );

  frame_store store (
      .*,
      .in_data(judged_data),
      .in_count(judged_count),
      .in_last(judged_last),
      .in_kind(judged_kind),
      .in_valid(judged_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .out_count(), /* verilator lint_on PINCONNECTEMPTY */  // its kind says enough
      .out_kind(kind)
  );
endmodule
