// SPDX-License-Identifier: Apache-2.0
// Recognises the packets of a protocol for this switch among passing frames: with the last beat, a cycle after it
// came, out_kind is 1 for one without all of its lanes, 2 for one that has them, and 0 for everything else, damaged ones
// too.
module switch_check #(
    // The protocol's number in IPv4.
    parameter [ 7:0] PROTOCOL     = 8'd254,
    // Bytes of a frame without lanes, 34 to 60, and with them.
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
    output reg  [127:0] out_data,
    output reg  [  3:0] out_count,
    output reg          out_last,
    output reg          out_valid,
    output wire [  1:0] out_kind
);
  if (HEADER_BYTES < 34 || HEADER_BYTES > 60) begin : wrong_HEADER_BYTES switch_check_needs_HEADER_BYTES_from_34_to_60 refused (); end
  if (FRAME_BYTES <= HEADER_BYTES) begin : wrong_FRAME_BYTES switch_check_needs_FRAME_BYTES_above_HEADER_BYTES refused (); end

  localparam [47:0] SWITCH = {switch_pkg::SWITCH_MAC[7:0], switch_pkg::SWITCH_MAC[15:8],
      switch_pkg::SWITCH_MAC[23:16], switch_pkg::SWITCH_MAC[31:24], switch_pkg::SWITCH_MAC[39:32],
      switch_pkg::SWITCH_MAC[47:40]};
  localparam [15:0] IPV4 = 16'h0008;  // in the order of bytes here
  localparam [7:0] PLAIN = 8'h45;  // version 4 without options

  reg beat_0, beat_1, ours;
  reg [10:0] bytes;  // of the frame, up to its greatest
  reg [2:0] fault;
  wire [10:0] more = beat_0 ? 11'd0 : bytes;
  wire [12:0] offset = {in_data[36:32], in_data[47:40]};  // of a fragment, in beat 1
  wire to_switch = in_data[47:0] == SWITCH && in_data[111:96] == IPV4 && in_data[119:112] == PLAIN;
  wire of_protocol = offset == 0 && in_data[63:56] == PROTOCOL;

  always @(posedge clk) begin
    out_valid <= in_valid && !rst;
    out_data  <= in_data;
    out_count <= in_count;
    out_last  <= in_last;
    if (in_valid) begin
      fault  <= in_fault;
      bytes  <= more[10] ? more : more + {7'b0, in_count} + 1'b1;
      if (beat_0) ours <= to_switch;
      else if (beat_1) ours <= ours && of_protocol;
      beat_0 <= in_last;
      beat_1 <= beat_0;
    end
    if (rst) {beat_0, beat_1} <= 2'b10;
  end

  assign out_kind = !(ours && fault == 0 && bytes >= HEADER_BYTES) ? 2'd0
      : bytes < FRAME_BYTES ? 2'd1 : 2'd2;
endmodule
