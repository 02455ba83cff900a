// SPDX-License-Identifier: Apache-2.0
// A full-duplex MAC at 1 Gbit/s between GMII and beats of 16 bytes in another clock's domain. Received beats have to be
// taken at the line's pace, frames to be sent have to come at it once they have begun: clk is 7.8 MHz or more.
module gmii_mac (
    input  wire         clk,
    input  wire         rst,
    input  wire         phy_clk,   // 125 MHz
    input  wire         phy_rst,
    input  wire [  7:0] rxd,
    input  wire         rx_dv,
    input  wire         rx_er,
    output wire [  7:0] txd,
    output wire         tx_en,
    output wire         tx_er,
    output wire [127:0] rx_data,
    output wire [  3:0] rx_count,
    output wire         rx_last,
    output wire [  2:0] rx_fault,
    output wire         rx_valid,
    input  wire [127:0] tx_data,
    input  wire [  3:0] tx_count,
    input  wire         tx_last,
    input  wire         tx_valid,
    output wire         tx_ready
);
  wire [127:0] came_data, goes_data;
  wire [3:0] came_count, goes_count;
  wire came_last, goes_last, came_valid, goes_valid, came_ready, goes_ready;
  wire [2:0] came_fault;

  gmii_rx receiver (
      .*,
      .clk(phy_clk),
      .rst(phy_rst),
      .out_data(came_data),
      .out_count(came_count),
      .out_last(came_last),
      .out_fault(came_fault),
      .out_valid(came_valid),
      .out_ready(came_ready)
  );

  async_fifo #(
      .WIDTH(136),
      .DEPTH(16)
  ) received (
      .in_clk(phy_clk),
      .in_rst(phy_rst),
      .in_data({came_fault, came_last, came_count, came_data}),
      .in_valid(came_valid),
      .in_ready(came_ready),
      .out_clk(clk),
      .out_rst(rst),
      .out_data({rx_fault, rx_last, rx_count, rx_data}),
      .out_valid(rx_valid),
      .out_ready(1'b1)
  );

  async_fifo #(
      .WIDTH(133),
      .DEPTH(16)
  ) sent (
      .in_clk(clk),
      .in_rst(rst),
      .in_data({tx_last, tx_count, tx_data}),
      .in_valid(tx_valid),
      .in_ready(tx_ready),
      .out_clk(phy_clk),
      .out_rst(phy_rst),
      .out_data({goes_last, goes_count, goes_data}),
      .out_valid(goes_valid),
      .out_ready(goes_ready)
  );

  gmii_tx sender (
      .*,
      .clk(phy_clk),
      .rst(phy_rst),
      .in_data(goes_data),
      .in_count(goes_count),
      .in_last(goes_last),
      .in_valid(goes_valid),
      .in_ready(goes_ready)
  );
endmodule
