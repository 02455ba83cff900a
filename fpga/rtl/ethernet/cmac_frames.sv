// SPDX-License-Identifier: Apache-2.0
// Frames between the user interface of a CMAC (AMD PG203; 64 bytes a beat) and beats of 16 bytes in another clock's domain.
// What comes cannot be held back: a frame with a fault leaves one beat that reports it, and frames without room are only
// counted. A frame to be sent waits until it is whole, so that the CMAC never lacks its next beat.
module cmac_frames #(
    // Beats of 64 bytes that wait for the card, and for the line; powers of two, 32 or more, to hold the longest frame.
    parameter RX_DEPTH = 512,
    parameter TX_DEPTH = 64
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         usr_clk,         // the CMAC's, 322 MHz
    input  wire         usr_rst,
    input  wire         rx_cut,          // the CMAC's receiver is in reset, in usr_clk's domain
    input  wire [511:0] rx_axis_tdata,
    input  wire [ 63:0] rx_axis_tkeep,
    input  wire         rx_axis_tlast,
    input  wire         rx_axis_tuser,
    input  wire         rx_axis_tvalid,
    output wire [511:0] tx_axis_tdata,
    output wire [ 63:0] tx_axis_tkeep,
    output wire         tx_axis_tlast,
    output wire         tx_axis_tuser,
    output wire         tx_axis_tvalid,
    input  wire         tx_axis_tready,
    output wire [127:0] rx_data,
    output wire [  3:0] rx_count,
    output wire         rx_last,
    output wire [  2:0] rx_fault,
    output wire         rx_valid,
    output wire [  7:0] rx_lost,         // frames without room that this cycle reports
    input  wire [127:0] tx_data,
    input  wire [  3:0] tx_count,
    input  wire         tx_last,
    input  wire         tx_valid,
    output wire         tx_ready
);
  if (RX_DEPTH < 32 || (RX_DEPTH & (RX_DEPTH - 1)) != 0) begin : wrong_RX_DEPTH cmac_frames_needs_RX_DEPTH_a_power_of_two_32_or_more refused (); end
  if (TX_DEPTH < 32 || (TX_DEPTH & (TX_DEPTH - 1)) != 0) begin : wrong_TX_DEPTH cmac_frames_needs_TX_DEPTH_a_power_of_two_32_or_more refused (); end

  wire [511:0] judged_data, kept_data, came_data;
  wire [5:0] judged_count, kept_count, came_count;
  wire [2:0] judged_fault, kept_fault, came_fault;
  wire judged_last, judged_valid, kept_last, kept_valid, kept_ready, came_last, came_valid, came_ready, lost;
  cmac_rx judge (
      .*,
      .clk(usr_clk),
      .rst(usr_rst),
      .cut(rx_cut),
      .out_data(judged_data),
      .out_count(judged_count),
      .out_last(judged_last),
      .out_fault(judged_fault),
      .out_valid(judged_valid)
  );

  frame_queue #(
      .WIDTH(521),
      .DEPTH(RX_DEPTH)
  ) received (
      .clk(usr_clk),
      .rst(usr_rst),
      .in_data({judged_fault, judged_count, judged_data}),
      .in_last(judged_last),
      .in_keep(1'b1),
      .in_alone(judged_fault != ethernet_pkg::NONE),
      .in_valid(judged_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .room(), /* verilator lint_on PINCONNECTEMPTY */  // nobody can wait
      /* verilator lint_off PINCONNECTEMPTY */ .kept(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .lost(lost),
      .out_data({kept_fault, kept_count, kept_data}),
      .out_last(kept_last),
      .out_valid(kept_valid),
      .out_ready(kept_ready)
  );

  async_fifo #(
      .WIDTH(522),
      .DEPTH(16)
  ) from_line (
      .in_clk(usr_clk),
      .in_rst(usr_rst),
      .in_data({kept_fault, kept_last, kept_count, kept_data}),
      .in_valid(kept_valid),
      .in_ready(kept_ready),
      .out_clk(clk),
      .out_rst(rst),
      .out_data({came_fault, came_last, came_count, came_data}),
      .out_valid(came_valid),
      .out_ready(came_ready)
  );

  frame_narrow to_card (
      .*,
      .in_data(came_data),
      .in_count(came_count),
      .in_last(came_last),
      .in_fault(came_fault),
      .in_valid(came_valid),
      .in_ready(came_ready),
      .out_data(rx_data),
      .out_count(rx_count),
      .out_last(rx_last),
      .out_fault(rx_fault),
      .out_valid(rx_valid)
  );

  tally_crossing #(
      .WIDTH(8)
  ) losses (
      .in_clk(usr_clk),
      .in_rst(usr_rst),
      .in_event(lost),
      .out_clk(clk),
      .out_rst(rst),
      .out_count(rx_lost)
  );

  wire [511:0] wide_data, goes_data, whole_data;
  wire [5:0] wide_count, goes_count, whole_count;
  wire wide_last, wide_valid, wide_ready, goes_last, goes_valid, room, whole_last, whole_valid, whole_ready;
  frame_widen from_card (
      .*,
      .in_data(tx_data),
      .in_count(tx_count),
      .in_last(tx_last),
      .in_valid(tx_valid),
      .in_ready(tx_ready),
      .out_data(wide_data),
      .out_count(wide_count),
      .out_last(wide_last),
      .out_valid(wide_valid),
      .out_ready(wide_ready)
  );

  async_fifo #(
      .WIDTH(519),
      .DEPTH(16)
  ) to_line (
      .in_clk(clk),
      .in_rst(rst),
      .in_data({wide_last, wide_count, wide_data}),
      .in_valid(wide_valid),
      .in_ready(wide_ready),
      .out_clk(usr_clk),
      .out_rst(usr_rst),
      .out_data({goes_last, goes_count, goes_data}),
      .out_valid(goes_valid),
      .out_ready(room)
  );

  frame_queue #(
      .WIDTH(518),
      .DEPTH(TX_DEPTH)
  ) sent (
      .clk(usr_clk),
      .rst(usr_rst),
      .in_data({goes_count, goes_data}),
      .in_last(goes_last),
      .in_keep(1'b1),
      .in_alone(1'b0),
      .in_valid(goes_valid && room),
      .room(room),
      /* verilator lint_off PINCONNECTEMPTY */ .kept(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      /* verilator lint_off PINCONNECTEMPTY */ .lost(), /* verilator lint_on PINCONNECTEMPTY */  // what comes has waited for room
      .out_data({whole_count, whole_data}),
      .out_last(whole_last),
      .out_valid(whole_valid),
      .out_ready(whole_ready)
  );

  wire [63:0] whole_keep = ~(64'hFFFF_FFFF_FFFF_FFFE << whole_count);
  assign tx_axis_tuser = 1'b0;
  skid_buffer #(
      .WIDTH(577)
  ) to_cmac (
      .clk(usr_clk),
      .rst(usr_rst),
      .in_data({whole_last, whole_keep, whole_data}),
      .in_valid(whole_valid),
      .in_ready(whole_ready),
      .out_data({tx_axis_tlast, tx_axis_tkeep, tx_axis_tdata}),
      .out_valid(tx_axis_tvalid),
      .out_ready(tx_axis_tready)
  );

`ifndef SYNTHESIS
  // A gap that the CMAC would take for an underflow.
  reg begun;
  always @(posedge usr_clk) begin
    if (usr_rst) begun <= 1'b0;
    else if (tx_axis_tvalid && tx_axis_tready) begun <= !tx_axis_tlast;
    if (!usr_rst) assert (!begun || tx_axis_tvalid);
  end
`endif
endmodule
