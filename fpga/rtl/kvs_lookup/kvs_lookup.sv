// SPDX-License-Identifier: Apache-2.0
// Look-ups in a cuckoo index in memory (specification section 9; model: offramp.leo.functions.kvs).
//
// A request packet is a header (function 0, number of keys, number of the request) and keys, eight in a beat of 512 bits;
// the answer packet has the addresses in the same order and a completion. Each key reads two lines of 64 bytes at once,
// one over each memory port, in order; FLIGHT keys may wait for memory, so that a look-up takes a cycle as long as
// FLIGHT is not below the memory's latency. Latency: 10 cycles and the memory's, from a packet's first beat to the last of
// its answer, for one key.
`include "axi.svh"
module kvs_lookup #(
    // Bits of a beat, a multiple of 64, 128 or more.
    parameter WIDTH  = 512,
    // Keys that wait for memory, a power of two, 2 or more.
    parameter FLIGHT = 64,
    // 1: lines are registered when they come; 0: memories that hold them (line_memory) save 1,028 bits for each port.
    parameter LINE_BUFFERS = 1
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH),
    `AXI_READS(m_axi_0, 512),
    `AXI_READS(m_axi_1, 512)
);
  wire cancel;
  wire [31:0] base_low, base_high, mask;
  reg [31:0] lookups, faults;
  reg poison;  // an abort is waiting for what was in flight
  wire parse_idle, match_idle, order_empty;
  wire looked_up, faulty;

  kvs_lookup_regs regs (
      .*,
      .hwif_out_control_abort(cancel),
      .hwif_in_status_busy(!parse_idle || !match_idle || !order_empty || m_axis_tvalid),
      .hwif_out_base_low_value(base_low),
      .hwif_out_base_high_value(base_high),
      .hwif_out_mask_value(mask),
      .hwif_in_lookups_value(lookups),
      .hwif_in_faults_value(faults)
  );

  wire token_end, token_valid, token_ready;
  wire [7:0] token_status;
  wire [63:0] token_word;

  kvs_parse #(
      .WIDTH(WIDTH)
  ) parse (
      .*,
      .idle(parse_idle)
  );

  wire [513:0] line_0, line_1;
  wire line_0_valid, line_0_ready, line_1_valid, line_1_ready;

  // A key is issued when it has a place in the order of answers and both ports take its read.
  wire order_ready, port_0_ready, port_1_ready;
  wire ports = port_0_ready && port_1_ready;
  wire issue = token_valid && !poison && order_ready && (token_end || ports);
  assign token_ready = issue;

  kvs_port #(
      .POLYNOMIAL(32'h82F63B78),
      .LINE_BUFFERS(LINE_BUFFERS)
  ) port_0 (
      .*,
      .base({base_high, base_low}),
      .key(token_word),
      .key_valid(issue && !token_end),
      .key_ready(port_0_ready),
      .line(line_0),
      .line_valid(line_0_valid),
      .line_ready(line_0_ready),
      `AXI_READS_JOIN(m_axi, m_axi_0)
  );

  kvs_port #(
      .POLYNOMIAL(32'hEDB88320),
      .LINE_BUFFERS(LINE_BUFFERS)
  ) port_1 (
      .*,
      .base({base_high, base_low}),
      .key(token_word),
      .key_valid(issue && !token_end),
      .key_ready(port_1_ready),
      .line(line_1),
      .line_valid(line_1_valid),
      .line_ready(line_1_ready),
      `AXI_READS_JOIN(m_axi, m_axi_1)
  );

  wire head_end, head_valid, head_ready;
  wire [7:0] head_status;
  wire [63:0] head_word;
  assign order_empty = !head_valid;

  fifo #(
      .WIDTH(73),
      .DEPTH(FLIGHT)
  ) order (
      .*,
      .in_data({token_end, token_status, token_word}),
      .in_valid(issue),
      .in_ready(order_ready),
      .out_data({head_end, head_status, head_word}),
      .out_valid(head_valid),
      .out_ready(head_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire matched_end, matched_valid, matched_ready;
  wire [7:0] matched_status;
  wire [63:0] matched_word;

  kvs_match match (
      .*,
      .idle(match_idle),
      .token_end(head_end),
      .token_status(head_status),
      .token_word(head_word),
      .token_valid(head_valid),
      .token_ready(head_ready),
      .out_end(matched_end),
      .out_status(matched_status),
      .out_word(matched_word),
      .out_valid(matched_valid),
      .out_ready(matched_ready)
  );

  kvs_pack #(
      .WIDTH(WIDTH)
  ) pack (
      .*,
      .token_end(matched_end),
      .token_status(matched_status),
      .token_word(matched_word),
      .token_valid(matched_valid),
      .token_ready(matched_ready)
  );

  always @(posedge clk) begin
    if (rst) begin
      poison  <= 1'b0;
      lookups <= 0;
      faults  <= 0;
    end else begin
      if (cancel) poison <= 1'b1;
      else if (order_empty && match_idle) poison <= 1'b0;
      lookups <= lookups + looked_up;
      faults  <= faults + faulty;
    end
  end
endmodule
