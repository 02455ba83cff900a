// SPDX-License-Identifier: Apache-2.0
// Orders the work of rows and of packets' ends: hands out a slot per cycle for each beat of a row, for the
// bounds that follow a group, and for a packet's end.
module row_jobs #(
    // Jobs, a power of two, 8 or more.
    parameter DEPTH = 64,
    // 1: a slot for the bounds of each group.
    parameter GROUPS = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         cancel,      // what is here ends with ABORTED
    input  wire         put,
    input  wire         put_end,
    input  wire [103:0] put_job,
    output wire         room,        // for four jobs, and nothing is being aborted
    output wire         empty,
    input  wire         ready,       // what the first row needs is there
    input  wire         place,       // for what a slot makes
    input  wire         wrong,       // the first row cannot be quantised
    output wire         slot_row,
    output wire         slot_bounds,
    output wire         slot_end,
    output wire         row_ends,    // with slot_row
    output reg  [ 15:0] beat,        // of the row
    output wire [  1:0] size,
    output wire [  5:0] lanes,       // values in the beat
    output wire [103:0] completion   // number, rows, status
);
  if (DEPTH < 8 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH row_jobs_needs_DEPTH_a_power_of_two_8_or_more refused (); end
  if (GROUPS != 0 && GROUPS != 1) begin : wrong_GROUPS row_jobs_needs_GROUPS_of_0_or_1 refused (); end

  localparam LANES_ALL = 6'd32;

  wire [$clog2(DEPTH):0] level;
  wire valid, ending;
  wire [103:0] job;
  wire pop = slot_end || row_ends;
  fifo #(
      .WIDTH(105),
      .DEPTH(DEPTH)
  ) jobs (
      .*,
      .in_data({put_end, put_job}),
      .in_valid(put),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({ending, job}),
      .out_valid(valid),
      .out_ready(pop)
  );

  wire closes;
  wire [5:0] rest;
  wire [15:0] end_beat;
  assign {closes, size, rest, end_beat} = job[24:0];

  reg bounding;  // the slot of a group's bounds comes next
  reg failed;    // a row of the request
  reg poison;    // until what was here at the abort has left
  assign slot_row    = place && !bounding && valid && !ending && ready;
  assign slot_bounds = place && bounding;
  assign slot_end    = place && !bounding && valid && ending;
  assign row_ends    = slot_row && beat == end_beat;
  assign lanes       = beat == end_beat ? rest : LANES_ALL;
  assign empty       = !valid && !bounding;
  assign room        = level < DEPTH - 4 && !poison && !cancel;

  wire [7:0] status = poison || cancel ? device_pkg::ABORTED
      : job[7:0] == device_pkg::OK && failed ? device_pkg::FAILED : job[7:0];
  assign completion = {job[103:40], status == device_pkg::OK ? job[39:8] : 32'b0, status};

  always @(posedge clk)
    if (rst) begin
      beat     <= 0;
      bounding <= 1'b0;
      failed   <= 1'b0;
      poison   <= 1'b0;
    end else begin
      if (slot_row) beat <= row_ends ? 16'd0 : beat + 1'b1;
      if (row_ends) bounding <= closes && GROUPS;
      else if (slot_bounds) bounding <= 1'b0;
      if (slot_end) failed <= 1'b0;
      else if (row_ends && wrong) failed <= 1'b1;
      poison <= cancel || (poison && !(empty && !put));
    end

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!(put && level == DEPTH));
`endif
endmodule
