// SPDX-License-Identifier: Apache-2.0
// The card on a board: its resets, its light, and one RGMII PHY. The top of boards whose clock is the engines'.
`include "udp.svh"
module ethernet_board #(
    `BOARD_PARAMETERS(0),
    // Delay of the pins, for a PHY that adds none itself: 80 is 2 ns.
    parameter RX_DELAY = 0,
    parameter TX_DELAY = 0
) (
    input  wire       clk,           // 25 MHz
    output wire       phy_rst_n,
    output wire       led_n,
    input  wire       rgmii_rxc,
    input  wire       rgmii_rx_ctl,
    input  wire [3:0] rgmii_rd,
    output wire       rgmii_txc,
    output wire       rgmii_tx_ctl,
    output wire [3:0] rgmii_td
);
  // The PHY is in reset for 10 ms, the card for 84 ms, when the PHY's clock has long been there.
  reg [21:0] count = 0;
  reg rst = 1'b1;
  always @(posedge clk) begin
    if (!count[21]) count <= count + 1'b1;
    rst <= !count[21];
  end
  assign phy_rst_n = |count[21:18];

  udp_card #(
      `BOARD_VALUES,
      .RX_DELAY(RX_DELAY),
      .TX_DELAY(TX_DELAY)
  ) card (.*);

  assign led_n = rst;
endmodule
