// SPDX-License-Identifier: Apache-2.0
// The card behind the U50's QSFP28 cage as a kernel without arguments (UG1393, ap_ctrl_none): AMD's CMAC, which project.tcl
// makes, its link, and udp_card_cmac. The Makefile writes ethernet_settings_pkg.
module ethernet_card (
    input  wire       ap_clk,
    input  wire       ap_rst_n,
    input  wire       clk_gt_freerun,  // 100 MHz
    input  wire       gt_refclk_p,     // 161.1328125 MHz
    input  wire       gt_refclk_n,
    input  wire [3:0] gt_port_grx_p,
    input  wire [3:0] gt_port_grx_n,
    output wire [3:0] gt_port_gtx_p,
    output wire [3:0] gt_port_gtx_n
);
  wire usr_clk, usr_tx_reset, usr_rx_reset, aligned, tx_enable, send_rfi, rx_cut, rst, cmac_rst;
  wire [511:0] rx_data, tx_data;
  wire [63:0] rx_keep, tx_keep;
  wire rx_last, rx_user, rx_valid, tx_last, tx_user, tx_valid, tx_ready;

  reg start;
  always @(posedge ap_clk) start <= !ap_rst_n;
  synchroniser #(
      .WIDTH(1)
  ) to_freerun (
      .clk(clk_gt_freerun),
      .in (start),
      .out(cmac_rst)
  );

  cmac_link link (
      .*,
      .clk(ap_clk),
      .stat_rx_aligned(aligned),
      .ctl_tx_enable(tx_enable),
      .ctl_tx_send_rfi(send_rfi)
  );

  cmac_usplus_0 cmac (
      .*,
      .gt_ref_clk_p(gt_refclk_p),
      .gt_ref_clk_n(gt_refclk_n),
      .gt_rxp_in(gt_port_grx_p),
      .gt_rxn_in(gt_port_grx_n),
      .gt_txp_out(gt_port_gtx_p),
      .gt_txn_out(gt_port_gtx_n),
      .gt_txusrclk2(usr_clk),
      .rx_clk(usr_clk),
      .init_clk(clk_gt_freerun),
      .sys_reset(cmac_rst),
      .gt_loopback_in(12'b0),
      .gtwiz_reset_tx_datapath(1'b0),
      .gtwiz_reset_rx_datapath(1'b0),
      .core_tx_reset(1'b0),
      .core_rx_reset(1'b0),
      .core_drp_reset(1'b0),
      .drp_clk(1'b0),
      .drp_addr(10'b0),
      .drp_di(16'b0),
      .drp_en(1'b0),
      .drp_we(1'b0),
      .ctl_rx_enable(1'b1),
      .ctl_rx_force_resync(1'b0),
      .ctl_rx_test_pattern(1'b0),
      .ctl_tx_enable(tx_enable),
      .ctl_tx_send_idle(1'b0),
      .ctl_tx_send_rfi(send_rfi),
      .ctl_tx_send_lfi(1'b0),
      .ctl_tx_test_pattern(1'b0),
      .ctl_tx_rsfec_enable(1'b1),
      .ctl_rx_rsfec_enable(1'b1),
      .ctl_rx_rsfec_enable_correction(1'b1),
      .ctl_rx_rsfec_enable_indication(1'b1),
      .ctl_rsfec_ieee_error_indication_mode(1'b0),
      .stat_rx_aligned(aligned),
      .rx_axis_tdata(rx_data),
      .rx_axis_tkeep(rx_keep),
      .rx_axis_tlast(rx_last),
      .rx_axis_tuser(rx_user),
      .rx_axis_tvalid(rx_valid),
      .tx_axis_tdata(tx_data),
      .tx_axis_tkeep(tx_keep),
      .tx_axis_tlast(tx_last),
      .tx_axis_tuser(tx_user),
      .tx_axis_tvalid(tx_valid),
      .tx_axis_tready(tx_ready),
      .tx_preamblein(56'b0)
  );

  udp_card_cmac #(
      .ADDRESS(ethernet_settings_pkg::ADDRESS),
      .CLOCK  (ethernet_settings_pkg::CLOCK),
      .LINES  (4096)
  ) card (
      .*,
      .clk(ap_clk),
      .rx_axis_tdata(rx_data),
      .rx_axis_tkeep(rx_keep),
      .rx_axis_tlast(rx_last),
      .rx_axis_tuser(rx_user),
      .rx_axis_tvalid(rx_valid),
      .tx_axis_tdata(tx_data),
      .tx_axis_tkeep(tx_keep),
      .tx_axis_tlast(tx_last),
      .tx_axis_tuser(tx_user),
      .tx_axis_tvalid(tx_valid),
      .tx_axis_tready(tx_ready)
  );
endmodule
