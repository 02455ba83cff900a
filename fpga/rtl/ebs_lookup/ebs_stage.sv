// SPDX-License-Identifier: Apache-2.0
// One of the three reads of a look-up: items pass in order, and those that ask wait for their line from memory. An item is
// handed on together with its line one cycle or more after the line came.
`include "axi.svh"
module ebs_stage #(
    // Bits of an item.
    parameter ITEM   = 64,
    // Bits of a line, and log2 of its bytes.
    parameter LINE   = 64,
    parameter SIZE   = 3,
    // Items that wait, a power of two, 2 or more.
    parameter FLIGHT = 16
) (
    input  wire            clk,
    input  wire            rst,
    output wire            idle,
    input  wire [ITEM-1:0] in_item,
    input  wire            in_asks,
    input  wire [    63:0] in_address,
    input  wire            in_valid,
    output wire            in_ready,
    `AXI_READS(m_axi, LINE),
    output wire [ITEM-1:0] out_item,
    output wire            out_asked,
    output wire [LINE-1:0] out_line,
    output wire [     1:0] out_response,
    output wire            out_valid,
    input  wire            out_ready
);
  if (ITEM < 1) begin : wrong_ITEM ebs_stage_needs_ITEM_of_1_or_more refused (); end
  if (LINE != 8 << SIZE) begin : wrong_LINE ebs_stage_needs_LINE_of_8_bits_times_two_to_the_SIZE refused (); end
  if (SIZE < 0 || SIZE > 7) begin : wrong_SIZE ebs_stage_needs_SIZE_from_0_to_7 refused (); end

  wire asked_ready, order_ready, head_valid, line_valid;
  wire go = in_valid && order_ready && (!in_asks || asked_ready);

  assign in_ready = order_ready && (!in_asks || asked_ready);
  assign idle     = !head_valid;

  skid_buffer #(
      .WIDTH(64)
  ) asked (
      .*,
      .in_data(in_address),
      .in_valid(go && in_asks),
      .in_ready(asked_ready),
      .out_data(m_axi_araddr),
      .out_valid(m_axi_arvalid),
      .out_ready(m_axi_arready)
  );

  assign m_axi_arlen   = 8'd0;
  assign m_axi_arsize  = SIZE;
  assign m_axi_arburst = 2'b01;

  fifo #(
      .WIDTH(ITEM + 1),
      .DEPTH(FLIGHT)
  ) order (
      .*,
      .in_data({in_asks, in_item}),
      .in_valid(go),
      .in_ready(order_ready),
      .out_data({out_asked, out_item}),
      .out_valid(head_valid),
      .out_ready(out_valid && out_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  skid_buffer #(
      .WIDTH(LINE + 2)
  ) came (
      .*,
      .in_data({m_axi_rresp, m_axi_rdata}),
      .in_valid(m_axi_rvalid),
      .in_ready(m_axi_rready),
      .out_data({out_response, out_line}),
      .out_valid(line_valid),
      .out_ready(out_valid && out_ready && out_asked)
  );

  assign out_valid = head_valid && (!out_asked || line_valid);
endmodule
