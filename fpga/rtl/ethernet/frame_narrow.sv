// SPDX-License-Identifier: Apache-2.0
// A beat of 64 bytes as up to four of 16, one a cycle, which are always taken.
module frame_narrow (
    input  wire         clk,
    input  wire         rst,
    input  wire [511:0] in_data,
    input  wire [  5:0] in_count,   // bytes of the beat - 1, 63 but in the last
    input  wire         in_last,
    input  wire [  2:0] in_fault,   // of the frame, with its last beat: ethernet_pkg
    input  wire         in_valid,
    output wire         in_ready,
    output reg  [127:0] out_data,
    output reg  [  3:0] out_count,
    output reg          out_last,
    output reg  [  2:0] out_fault,
    output reg          out_valid
);
  reg [1:0] part;
  wire ends = part == in_count[5:4];
  assign in_ready = ends;

  always @(posedge clk) begin
    out_data  <= in_data[part*128+:128];
    out_count <= ends ? in_count[3:0] : 4'd15;
    out_last  <= in_last && ends;
    out_fault <= in_fault;
    out_valid <= in_valid && !rst;
    if (rst) part <= 2'd0;
    else if (in_valid) part <= ends ? 2'd0 : part + 1'b1;
  end
endmodule
