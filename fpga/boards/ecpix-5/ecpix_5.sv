// SPDX-License-Identifier: Apache-2.0
// The card on an ECPIX-5 with an ECP5-5G 85F: engines at a quarter of the board's 100 MHz.
`include "udp.svh"
module ecpix_5 #(
    `BOARD_PARAMETERS(2)
) (
    input  wire       clk_100mhz,
    output wire       phy_rst_n,
    output wire       led_n,
    input  wire       rgmii_rxc,
    input  wire       rgmii_rx_ctl,
    input  wire [3:0] rgmii_rd,
    output wire       rgmii_txc,
    output wire       rgmii_tx_ctl,
    output wire [3:0] rgmii_td
);
  reg half = 1'b0, clk = 1'b0;
  always @(posedge clk_100mhz) begin
    half <= !half;
    if (half) clk <= !clk;
  end

  ethernet_board #(
      `BOARD_VALUES,
      .TX_DELAY(80)  // the PHY delays what it gives itself
  ) board (.*);
endmodule
