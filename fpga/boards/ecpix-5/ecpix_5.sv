// SPDX-License-Identifier: Apache-2.0
// The card on an ECPIX-5 with an ECP5-5G 85F: engines at a quarter of the board's 100 MHz.
module ecpix_5 #(
    parameter [31:0] ADDRESS  = 32'hC0A80132,
    // The card's parameters (udp_card), set by `offramp fpga build --parameter`.
    parameter FLOAT32S        = 1,
    parameter PAGES           = 2,
    parameter AGGREGATORS     = 0,
    parameter VERTICES        = 1024,
    parameter EDGES           = 1024,
    parameter EBS_LINES       = 0,
    parameter QUANTPACK_DEPTH = 0
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
      .ADDRESS(ADDRESS),
      .FLOAT32S(FLOAT32S),
      .PAGES(PAGES),
      .AGGREGATORS(AGGREGATORS),
      .VERTICES(VERTICES),
      .EDGES(EDGES),
      .EBS_LINES(EBS_LINES),
      .QUANTPACK_DEPTH(QUANTPACK_DEPTH),
      .TX_DELAY(80)  // the PHY delays what it gives itself
  ) board (.*);
endmodule
