// SPDX-License-Identifier: Apache-2.0
// The engines behind 100 Gigabit Ethernet (udp_engines), from the user interface of a CMAC on.
module udp_card_cmac #(
    // IPv4 address, 192.168.1.50 by default.
    parameter [31:0] ADDRESS  = 32'hC0A80132,
    // Frequency of clk, Hz; its domain takes 16 bytes per cycle.
    parameter [31:0] CLOCK    = 250_000_000,
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
    // Beats of 64 bytes that wait for the engines, a power of two, 32 or more.
    parameter RX_DEPTH = 512
) (
    input  wire         clk,
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
      .QUANTPACK_DEPTH(QUANTPACK_DEPTH),
      .STORE(1024)
  ) engines (.*);
endmodule
