// SPDX-License-Identifier: Apache-2.0
// The card on a Colorlight 5A-75B, revision 7.0, with an ECP5 25F: the first of its two PHYs, engines at the board's 25 MHz; integer sums.
module colorlight_5a_75b #(
    parameter [31:0] ADDRESS = 32'hC0A80132
) (
    input  wire       clk_25mhz,
    output wire       phy_rst_n,
    output wire       led_n,
    input  wire       rgmii_rxc,
    input  wire       rgmii_rx_ctl,
    input  wire [3:0] rgmii_rd,
    output wire       rgmii_txc,
    output wire       rgmii_tx_ctl,
    output wire [3:0] rgmii_td
);
  wire clk = clk_25mhz;

  // The PHY is in reset for 10 ms, the card for 84 ms, when the PHY's clock has long been there.
  reg [21:0] count = 0;
  reg rst = 1'b1;
  always @(posedge clk) begin
    if (!count[21]) count <= count + 1'b1;
    rst <= !count[21];
  end
  assign phy_rst_n = |count[21:18];

  udp_card #(
      .ADDRESS(ADDRESS),
      .FLOAT32S(0),  // their adders are what the router finds no wires for
      .RX_DELAY(80)  // 2 ns; the PHY delays what it gets itself
  ) card (
      .clk(clk),
      .rst(rst),
      .rgmii_rxc(rgmii_rxc),
      .rgmii_rx_ctl(rgmii_rx_ctl),
      .rgmii_rd(rgmii_rd),
      .rgmii_txc(rgmii_txc),
      .rgmii_tx_ctl(rgmii_tx_ctl),
      .rgmii_td(rgmii_td)
  );

  assign led_n = rst;
endmodule
