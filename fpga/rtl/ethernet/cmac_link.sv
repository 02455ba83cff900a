// SPDX-License-Identifier: Apache-2.0
// Brings a CMAC's link up (AMD PG203): the card waits until the user clock runs; nothing is sent until the receiver has
// aligned its lanes, and a fault is signalled to the far end meanwhile. The CMAC's receiver runs on the user clock, too.
module cmac_link #(
    // Bits of the count of cycles for which the card stays in reset when the user clock runs, 4 or more.
    parameter WAIT = 8
) (
    input  wire clk,
    input  wire start,            // a reset, which lasts ten cycles or more
    input  wire usr_clk,
    input  wire usr_tx_reset,     // the CMAC's, in usr_clk's domain, as all that follows
    input  wire usr_rx_reset,
    input  wire stat_rx_aligned,
    output reg  ctl_tx_enable,
    output reg  ctl_tx_send_rfi,
    output reg  rx_cut,           // what comes is nothing
    output reg  rst               // in clk's domain
);
  if (WAIT < 4) begin : wrong_WAIT cmac_link_needs_WAIT_of_4_or_more refused (); end

  wire stopped;
  synchroniser #(
      .WIDTH(1)
  ) clock_runs (
      .clk(clk),
      .in (usr_tx_reset),
      .out(stopped)
  );

  reg [WAIT-1:0] count;
  always @(posedge clk) begin
    if (start || stopped) count <= 0;
    else if (!(&count)) count <= count + 1'b1;
    rst <= start || !(&count);
  end

  always @(posedge usr_clk) begin
    ctl_tx_enable   <= stat_rx_aligned && !usr_tx_reset;
    ctl_tx_send_rfi <= !stat_rx_aligned;
    rx_cut          <= usr_rx_reset || !stat_rx_aligned;
  end
endmodule
