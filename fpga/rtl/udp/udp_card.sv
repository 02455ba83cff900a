// SPDX-License-Identifier: Apache-2.0
// The engines behind Gigabit Ethernet (udp_engines), from RGMII's pins on.
`include "udp.svh"
module udp_card #(
    `UDP_PARAMETERS(25_000_000),
    // Delays of the board's pins (rgmii).
    parameter RX_DELAY = 0,
    parameter TX_DELAY = 0
) (
    input  wire       clk,  // 7.8 MHz or more
    input  wire       rst,
    input  wire       rgmii_rxc,
    input  wire       rgmii_rx_ctl,
    input  wire [3:0] rgmii_rd,
    output wire       rgmii_txc,
    output wire       rgmii_tx_ctl,
    output wire [3:0] rgmii_td
);
  wire phy_rst;
  synchroniser #(
      .WIDTH(1)
  ) reset (
      .clk(rgmii_rxc),
      .in (rst),
      .out(phy_rst)
  );

  wire [7:0] rxd, txd;
  wire rx_dv, rx_er, tx_en, tx_er;
  rgmii #(
      .RX_DELAY(RX_DELAY),
      .TX_DELAY(TX_DELAY)
  ) pins (
      .*,
      .rxc(rgmii_rxc),
      .rx_ctl(rgmii_rx_ctl),
      .rd(rgmii_rd),
      .txc(rgmii_txc),
      .tx_ctl(rgmii_tx_ctl),
      .td(rgmii_td)
  );

  wire [127:0] rx_data, tx_data;
  wire [3:0] rx_count, tx_count;
  wire rx_last, rx_valid, tx_last, tx_valid, tx_ready;
  wire [2:0] rx_fault;
  gmii_mac mac (
      .*,
      .phy_clk(rgmii_rxc)
  );

  udp_engines #(
      `UDP_VALUES
  ) engines (
      .*,
      .rx_lost(8'b0)  // the MAC reports them by a beat
  );
endmodule
