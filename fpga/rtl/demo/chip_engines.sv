// SPDX-License-Identifier: Apache-2.0
// Joins kvs_lookup, reduce and the table that look-ups read on one chip, behind one stream of packets each way.
//
// in_target says where a packet goes (udp_pkg): to the look-ups, the sums, control_port, ebs_lookup or quantpack's two ways.
// out_source says where an answer comes from; every packet is answered by one packet, whole, in order from each source.
// Both streams have a register in both directions.
`include "axi.svh"
module chip_engines #(
    // Lines of the table, a power of two.
    parameter LINES    = 64,
    // Look-ups that wait for the table, a power of two, 2 or more.
    parameter FLIGHT   = 8,
    // Vectors of a sum: 2, 4 or 8.
    parameter INPUTS   = 2,
    // Whether sums of float32, too.
    parameter FLOAT32S = 1,
    // Beats of a vector, a power of two, 2 or more.
    parameter DEPTH    = 16,
    // 32-bit counters that the host reads, a multiple of 4, 4 or more.
    parameter COUNTERS = 4,
    // Entries of the other engines' tables (control_port).
    parameter ENTRIES  = 0,
    // Lines of ebs_lookup's tables, a power of two, 2 to 65536; 0: the engine is not there.
    parameter EBS_LINES = 0,
    // Beats of 32 bytes of a row that quantpack holds, a power of two, 64 or more for a beat a cycle; 0: the engine is not
    // there.
    parameter QUANTPACK_DEPTH = 0,
    // Beats of an answer that have a place, 3 or more.
    parameter MOST_ANSWER = 90
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [COUNTERS*32-1:0] counters,
    input  wire [            2:0] in_target,
    input  wire [          127:0] in_data,
    input  wire [           15:0] in_keep,
    input  wire                   in_last,
    input  wire                   in_valid,
    output wire                   in_ready,
    output wire [            2:0] out_source,
    output wire [          127:0] out_data,
    output wire                   out_last,
    output wire                   out_valid,
    input  wire                   out_ready,
    output wire [            7:0] m_axil_addr,     // registers of two more engines, which control_port calls 2 and 3
    output wire [            1:0] m_axil_awvalid,
    input  wire [            1:0] m_axil_awready,
    output wire [           31:0] m_axil_wdata,
    output wire [            1:0] m_axil_wvalid,
    input  wire [            1:0] m_axil_wready,
    input  wire [            1:0] m_axil_bvalid,
    output wire [            1:0] m_axil_arvalid,
    input  wire [            1:0] m_axil_arready,
    input  wire [           63:0] m_axil_rdata,
    input  wire [            1:0] m_axil_rvalid,
    output wire                   write_entry,     // of the tables of one of them
    output wire [           15:0] entry_at,
    output wire                   entry_table,
    output wire [           95:0] entry_data
);
  if (MOST_ANSWER < 3) begin : wrong_MOST_ANSWER chip_engines_needs_MOST_ANSWER_of_3_or_more refused (); end

  localparam [2:0] KVS = udp_pkg::KVS, REDUCE = udp_pkg::REDUCE, CONTROL = udp_pkg::CONTROL, EBS = udp_pkg::EBS;
  localparam [2:0] QUANTISE = udp_pkg::QUANTISE, DEQUANTISE = udp_pkg::DEQUANTISE;
  localparam SOURCES = QUANTPACK_DEPTH != 0 ? 6 : EBS_LINES != 0 ? 4 : 3;

  // Streams of an engine whose beats are as wide as the chip's.
  `define ENGINE_STREAMS(TARGET) \
      .s_axis_tdata(packet_data), \
      .s_axis_tkeep(packet_keep), \
      .s_axis_tlast(packet_last), \
      .s_axis_tvalid(packet_valid && packet_target == TARGET), \
      .s_axis_tready(ready[TARGET]), \
      .m_axis_tdata(data[128*TARGET+:128]), \
      /* verilator lint_off PINCONNECTEMPTY */ .m_axis_tkeep(), /* verilator lint_on PINCONNECTEMPTY */ \
      .m_axis_tlast(last[TARGET]), \
      .m_axis_tvalid(valid[TARGET]), \
      .m_axis_tready(taken[TARGET])

  // Signals of a stream; answers' beats are whole, so nobody looks at their tkeep.
  `define STREAM(BUS, BITS) \
      wire [BITS-1:0] BUS``_tdata; \
      /* verilator lint_off UNUSEDSIGNAL */ wire [BITS/8-1:0] BUS``_tkeep; /* verilator lint_on UNUSEDSIGNAL */ \
      wire BUS``_tlast, BUS``_tvalid, BUS``_tready;

  // Signals of an engine's read port, and what joins a memory on the chip to it: one line for each address.
  `define READ_PORT(BUS, BITS) \
      wire [63:0] BUS``_araddr; \
      wire [BITS-1:0] BUS``_rdata; \
      wire [1:0] BUS``_rresp; \
      wire BUS``_arvalid, BUS``_arready, BUS``_rvalid, BUS``_rready; \
      wire BUS``_rlast = 1'b1; \
      /* verilator lint_off UNUSEDSIGNAL */ \
      wire [7:0] BUS``_arlen; \
      wire [2:0] BUS``_arsize; \
      wire [1:0] BUS``_arburst; \
      /* verilator lint_on UNUSEDSIGNAL */
  `define READ_PORT_JOIN(BUS) \
      .s_axi_araddr(BUS``_araddr), \
      .s_axi_arvalid(BUS``_arvalid), \
      .s_axi_arready(BUS``_arready), \
      .s_axi_rdata(BUS``_rdata), \
      .s_axi_rresp(BUS``_rresp), \
      .s_axi_rvalid(BUS``_rvalid), \
      .s_axi_rready(BUS``_rready)

  wire [7:0] ready;
  wire [5:0] valid, last;
  /* verilator lint_off UNUSEDSIGNAL */ wire [5:0] taken; /* verilator lint_on UNUSEDSIGNAL */  // the last ones are EBS's and quantpack's
  wire [6*128-1:0] data;
  wire [2:0] packet_target;
  wire [127:0] packet_data;
  wire [15:0] packet_keep;
  wire packet_last, packet_valid;
  assign ready[7:6] = 2'b11;
  skid_buffer #(
      .WIDTH(148)
  ) packets (
      .*,
      .in_data({in_target, in_keep, in_last, in_data}),
      .out_data({packet_target, packet_keep, packet_last, packet_data}),
      .out_valid(packet_valid),
      .out_ready(ready[packet_target])
  );

  wire answer_valid, answer_last, answer_ready;
  wire [SOURCES-1:0] turn_of;
  /* verilator lint_off WIDTHEXPAND */ wire [5:0] turn = turn_of; /* verilator lint_on WIDTHEXPAND */  // nobody's is 0
  packet_turns #(
      .COUNT(SOURCES)
  ) turns (
      .*,
      .valid(valid[SOURCES-1:0]),
      .ends(answer_valid && answer_ready && answer_last),
      .turn(turn_of)
  );
  assign answer_valid = |(turn & valid);
  assign answer_last  = |(turn & last);
  wire [2:0] answer_source = {turn[4] | turn[5], turn[2] | turn[3], turn[1] | turn[3] | turn[5]};
  wire [127:0] answer_data = turn[5] ? data[5*128+:128] : turn[4] ? data[4*128+:128] : turn[3] ? data[3*128+:128]
      : turn[2] ? data[2*128+:128] : turn[1] ? data[1*128+:128] : data[0+:128];
  assign taken = turn & {6{answer_ready}};
  skid_buffer #(
      .WIDTH(132)
  ) answers (
      .*,
      .in_data({answer_source, answer_last, answer_data}),
      .in_valid(answer_valid),
      .in_ready(answer_ready),
      .out_data({out_source, out_last, out_data})
  );

  wire [$clog2(LINES)-1:0] write_line;
  wire [511:0] write_data;
  wire write;
  /* verilator lint_off UNUSEDSIGNAL */  // without EBS_LINES
  wire write_ebs;
  wire [15:0] ebs_line;
  /* verilator lint_on UNUSEDSIGNAL */
  wire [511:0] ebs_data;

  // Registers by the engines' numbers: 0 kvs_lookup, 1 reduce, 2 and 3 outside, 4 ebs_lookup, 6 quantpack. 5 is no engine
  // and has one register, with the lines; 7 is nothing.
  wire [2:0] axil_engine;
  wire [7:0] axil_addr;
  wire [31:0] axil_wdata;
  wire [7:0] axil_awready, axil_wready, axil_bvalid, axil_arready, axil_rvalid;
  wire [8*32-1:0] axil_rdata;
  wire awvalid, wvalid, arvalid;
  wire [7:0] addressed = 8'd1 << axil_engine;
  /* verilator lint_off UNUSEDSIGNAL */  // not every number is an engine's
  wire [7:0] axil_awvalid = addressed & {8{awvalid}};
  wire [7:0] axil_wvalid = addressed & {8{wvalid}};
  wire [7:0] axil_arvalid = addressed & {8{arvalid}};
  /* verilator lint_on UNUSEDSIGNAL */
  assign m_axil_addr        = axil_addr;
  assign m_axil_awvalid     = axil_awvalid[3:2];
  assign axil_awready[3:2]  = m_axil_awready;
  assign m_axil_wdata       = axil_wdata;
  assign m_axil_wvalid      = axil_wvalid[3:2];
  assign axil_wready[3:2]   = m_axil_wready;
  assign axil_bvalid[3:2]   = m_axil_bvalid;
  assign m_axil_arvalid     = axil_arvalid[3:2];
  assign axil_arready[3:2]  = m_axil_arready;
  assign axil_rdata[127:64] = m_axil_rdata;
  assign axil_rvalid[3:2]   = m_axil_rvalid;
  assign {axil_awready[5], axil_wready[5], axil_bvalid[5], axil_arready[5], axil_rvalid[5]} = 5'b11111;
  assign axil_rdata[5*32+:32] = EBS_LINES;
  `AXIL_ABSENT(7)

  control_port #(
      .LINES(LINES),
      .COUNTERS(COUNTERS),
      .ENTRIES(ENTRIES),
      .EBS_LINES(EBS_LINES),
      .ENGINES(SOURCES == 3 ? 4 : 8)
  ) control (
      .*,
      .s_axis_tdata(packet_data),
      .s_axis_tkeep(packet_keep),
      .s_axis_tlast(packet_last),
      .s_axis_tvalid(packet_valid && packet_target == CONTROL),
      .s_axis_tready(ready[CONTROL]),
      .m_axis_tdata(data[128*CONTROL+:128]),
      .m_axis_tlast(last[CONTROL]),
      .m_axis_tvalid(valid[CONTROL]),
      .m_axis_tready(taken[CONTROL]),
      .m_axil_addr(axil_addr),
      .m_axil_engine(axil_engine),
      .m_axil_awvalid(awvalid),
      .m_axil_awready(axil_awready[axil_engine]),
      .m_axil_wdata(axil_wdata),
      .m_axil_wvalid(wvalid),
      .m_axil_wready(axil_wready[axil_engine]),
      .m_axil_bvalid(axil_bvalid[axil_engine]),
      .m_axil_arvalid(arvalid),
      .m_axil_arready(axil_arready[axil_engine]),
      .m_axil_rdata(axil_rdata[32*axil_engine+:32]),
      .m_axil_rvalid(axil_rvalid[axil_engine])
  );

  // Tables of ebs_lookup: each of its ports has a copy of its own of what the host writes.
  generate
    if (EBS_LINES == 0) begin : no_ebs  // nobody asks for it
      assign {ready[EBS], valid[EBS], last[EBS], data[128*EBS+:128], ebs_data} = {1'b1, 642'b0};
      `AXIL_ABSENT(4)
    end else begin : ebs
      `READ_PORT(volumes, 512)
      `READ_PORT(entries, 64)
      `READ_PORT(addresses, 64)
      wire [63:0] volumes_awaddr;
      wire volumes_awvalid, volumes_awready, volumes_wvalid, volumes_wready;
      wire volumes_bvalid, volumes_bready;
      /* verilator lint_off UNUSEDSIGNAL */ wire [511:0] volumes_wdata; /* verilator lint_on UNUSEDSIGNAL */  // it writes buckets alone
      wire [1:0] volumes_bresp;

      bucket_memory #(
          .LINES(EBS_LINES)
      ) volumes (
          .*,
          .host_line(ebs_line[$clog2(EBS_LINES)-1:0]),
          .host_data(write_data),
          .host_write(write_ebs),
          .host_reads(ebs_data),
          `READ_PORT_JOIN(volumes),
          .s_axi_awaddr(volumes_awaddr),
          .s_axi_awvalid(volumes_awvalid),
          .s_axi_awready(volumes_awready),
          .s_axi_wdata(volumes_wdata[383:256]),
          .s_axi_wvalid(volumes_wvalid),
          .s_axi_wready(volumes_wready),
          .s_axi_bresp(volumes_bresp),
          .s_axi_bvalid(volumes_bvalid),
          .s_axi_bready(volumes_bready)
      );

      word_memory #(
          .LINES(EBS_LINES)
      ) entries (
          .*,
          .write_line(ebs_line[$clog2(EBS_LINES)-1:0]),
          .write(write_ebs),
          `READ_PORT_JOIN(entries)
      );

      word_memory #(
          .LINES(EBS_LINES)
      ) addresses (
          .*,
          .write_line(ebs_line[$clog2(EBS_LINES)-1:0]),
          .write(write_ebs),
          `READ_PORT_JOIN(addresses)
      );

      // Whether the engine takes a beat depends on much: nobody else waits for it to know.
      `STREAM(requests, 128)
      skid_buffer #(
          .WIDTH(145)
      ) look_ups (
          .*,
          .in_data({packet_keep, packet_last, packet_data}),
          .in_valid(packet_valid && packet_target == EBS),
          .in_ready(ready[EBS]),
          .out_data({requests_tkeep, requests_tlast, requests_tdata}),
          .out_valid(requests_tvalid),
          .out_ready(requests_tready)
      );

      ebs_lookup #(
          .WIDTH(128),
          .FLIGHT(FLIGHT)
      ) engine (
          .*,
          `AXIL_JOIN(4),
          `AXIS_JOIN(s_axis, requests),
          .m_axis_tdata(data[128*EBS+:128]),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axis_tkeep(), /* verilator lint_on PINCONNECTEMPTY */
          .m_axis_tlast(last[EBS]),
          .m_axis_tvalid(valid[EBS]),
          .m_axis_tready(taken[EBS]),
          `AXI_READS_JOIN(m_axi_volumes, volumes),
          `AXI_READS_JOIN(m_axi_entries, entries),
          `AXI_READS_JOIN(m_axi_addresses, addresses),
          .m_axi_volumes_awaddr(volumes_awaddr),
          .m_axi_volumes_awvalid(volumes_awvalid),
          .m_axi_volumes_awready(volumes_awready),
          .m_axi_volumes_wdata(volumes_wdata),
          .m_axi_volumes_wvalid(volumes_wvalid),
          .m_axi_volumes_wready(volumes_wready),
          .m_axi_volumes_bresp(volumes_bresp),
          .m_axi_volumes_bvalid(volumes_bvalid),
          .m_axi_volumes_bready(volumes_bready),
          /* verilator lint_off PINCONNECTEMPTY */  // a write is one bucket
          .m_axi_volumes_awlen(),
          .m_axi_volumes_awsize(),
          .m_axi_volumes_awburst(),
          .m_axi_volumes_wstrb(),
          .m_axi_volumes_wlast()
          /* verilator lint_on PINCONNECTEMPTY */
      );
    end
  endgenerate

  // quantpack, whose beats are twice as wide, with a target for each way.
  generate
    if (QUANTPACK_DEPTH == 0) begin : no_quantpack  // nobody asks for it
      assign {ready[5:4], valid[5:4], last[5:4], data[4*128+:256]} = {2'b11, 260'b0};
      `AXIL_ABSENT(6)
    end else begin : quantiser
      `STREAM(values, 256)
      `STREAM(quantised, 256)
      widen there_in (
          .*,
          .in_data(packet_data),
          .in_keep(packet_keep),
          .in_last(packet_last),
          .in_valid(packet_valid && packet_target == QUANTISE),
          .in_ready(ready[QUANTISE]),
          .out_data(values_tdata),
          .out_keep(values_tkeep),
          .out_last(values_tlast),
          .out_valid(values_tvalid),
          .out_ready(values_tready)
      );
      narrow #(
          .MOST((MOST_ANSWER - 1) / 2)
      ) there_out (
          .*,
          .in_data(quantised_tdata),
          .in_last(quantised_tlast),
          .in_valid(quantised_tvalid),
          .in_ready(quantised_tready),
          .out_data(data[128*QUANTISE+:128]),
          .out_last(last[QUANTISE]),
          .out_valid(valid[QUANTISE]),
          .out_ready(taken[QUANTISE])
      );

      `STREAM(codes, 256)
      `STREAM(dequantised, 256)
      widen back_in (
          .*,
          .in_data(packet_data),
          .in_keep(packet_keep),
          .in_last(packet_last),
          .in_valid(packet_valid && packet_target == DEQUANTISE),
          .in_ready(ready[DEQUANTISE]),
          .out_data(codes_tdata),
          .out_keep(codes_tkeep),
          .out_last(codes_tlast),
          .out_valid(codes_tvalid),
          .out_ready(codes_tready)
      );
      narrow #(
          .MOST((MOST_ANSWER - 1) / 2)
      ) back_out (
          .*,
          .in_data(dequantised_tdata),
          .in_last(dequantised_tlast),
          .in_valid(dequantised_tvalid),
          .in_ready(dequantised_tready),
          .out_data(data[128*DEQUANTISE+:128]),
          .out_last(last[DEQUANTISE]),
          .out_valid(valid[DEQUANTISE]),
          .out_ready(taken[DEQUANTISE])
      );

      quantpack #(
          .WIDTH(256),
          .DEPTH(QUANTPACK_DEPTH)
      ) engine (
          .*,
          `AXIL_JOIN(6),
          `AXIS_JOIN(s_axis_values, values),
          `AXIS_JOIN(m_axis_codes, quantised),
          `AXIS_JOIN(s_axis_codes, codes),
          `AXIS_JOIN(m_axis_values, dequantised)
      );
    end
  endgenerate

  `READ_PORT(m_axi_0, 512)
  line_memory #(
      .LINES(LINES)
  ) table_0 (
      .*,
      `READ_PORT_JOIN(m_axi_0)
  );

  `READ_PORT(m_axi_1, 512)
  line_memory #(
      .LINES(LINES)
  ) table_1 (
      .*,
      `READ_PORT_JOIN(m_axi_1)
  );

  kvs_lookup #(
      .WIDTH(128),
      .FLIGHT(FLIGHT),
      .LINE_BUFFERS(0)
  ) kvs (
      .*,
      `AXIL_JOIN(0),
      `ENGINE_STREAMS(KVS)
  );

  reduce #(
      .WIDTH(128),
      .DEPTH(DEPTH),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .BFLOAT16S(0)
  ) sums (
      .*,
      `AXIL_JOIN(1),
      `ENGINE_STREAMS(REDUCE)
  );
endmodule
