// SPDX-License-Identifier: Apache-2.0
// The engines behind 100 Gigabit Ethernet (udp_engines), from the user interface of a CMAC on.
`include "udp.svh"
module udp_card_cmac #(
    `UDP_PARAMETERS(250_000_000),
    // Beats of 64 bytes that wait for the engines, a power of two, 32 or more.
    parameter RX_DEPTH = 512
) (
    input  wire         clk,             // its domain takes 16 bytes per cycle
    input  wire         rst,             // until usr_clk has run for a while, and eight cycles of each clock
    input  wire         usr_clk,         // the CMAC's, 322 MHz
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
    input  wire         tx_axis_tready
);
  wire usr_rst;
  synchroniser #(
      .WIDTH(1)
  ) reset (
      .clk(usr_clk),
      .in (rst),
      .out(usr_rst)
  );

  wire [127:0] rx_data, tx_data;
  wire [3:0] rx_count, tx_count;
  wire rx_last, rx_valid, tx_last, tx_valid, tx_ready;
  wire [2:0] rx_fault;
  wire [7:0] rx_lost;
  cmac_frames #(
      .RX_DEPTH(RX_DEPTH)
  ) frames (.*);

  udp_engines #(
      `UDP_VALUES,
      .STORE(1024)
  ) engines (.*);
endmodule
