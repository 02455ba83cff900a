// SPDX-License-Identifier: Apache-2.0
// The engines behind Gigabit Ethernet (udp_engines), from RGMII's pins on.
module udp_card #(
    // IPv4 address, 192.168.1.50 by default.
    parameter [31:0] ADDRESS  = 32'hC0A80132,
    // Frequency of clk, Hz; 7.8 MHz or more.
    parameter [31:0] CLOCK    = 25_000_000,
    // Cycles without a word after which another host may have the card.
    parameter [31:0] PATIENCE = 5 * CLOCK,
    // Requests on their way, a power of two, 2 or more.
    parameter PLACES   = 8,
    // Lines of the table, a power of two.
    parameter LINES    = 256,
    // Vectors of a sum: 2, 4 or 8.
    parameter INPUTS   = 2,
    // Whether it sums float32, too.
    parameter FLOAT32S = 1,
    // Beats of a vector, a power of two, 2 or more.
    parameter DEPTH    = 64,
    // Pages of slots for all-reduces: 0, or a power of two.
    parameter PAGES    = 0,
    // SwitchGNN's aggregators and table sizes: 0, or powers of two, 16 to 65536.
    parameter AGGREGATORS = 0,
    parameter VERTICES    = 1024,
    parameter EDGES       = 1024,
    // Lines of ebs_lookup's tables: 0, without the engine, or a power of two up to 65536.
    parameter EBS_LINES   = 0,
    // Beats of 32 bytes of a row that quantpack holds: 0, without the engine, or a power of two up to 4096; of 64 nothing
    // waits, and a datagram's longest row has 44.
    parameter QUANTPACK_DEPTH = 0,
    // Delays of the board's pins (rgmii).
    parameter RX_DELAY = 0,
    parameter TX_DELAY = 0
) (
    input  wire       clk,
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
      .ADDRESS(ADDRESS),
      .CLOCK(CLOCK),
      .PATIENCE(PATIENCE),
      .PLACES(PLACES),
      .LINES(LINES),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .DEPTH(DEPTH),
      .PAGES(PAGES),
      .AGGREGATORS(AGGREGATORS),
      .VERTICES(VERTICES),
      .EDGES(EDGES),
      .EBS_LINES(EBS_LINES),
      .QUANTPACK_DEPTH(QUANTPACK_DEPTH)
  ) engines (
      .*,
      .rx_lost(8'b0)  // the MAC reports them by a beat
  );
endmodule
