// SPDX-License-Identifier: Apache-2.0
// kvs_lookup, reduce and the table that look-ups read, on one chip, behind one stream of packets each way.
//
// in_target says where a packet goes (udp_pkg): to the look-ups, the sums, control_port, ebs_lookup or quantpack's two ways.
// out_source says where an answer comes from; every packet is answered by one packet, whole, in order from each source.
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
  localparam [2:0] KVS = udp_pkg::KVS, REDUCE = udp_pkg::REDUCE, CONTROL = udp_pkg::CONTROL, EBS = udp_pkg::EBS;
  localparam [2:0] QUANTISE = udp_pkg::QUANTISE, DEQUANTISE = udp_pkg::DEQUANTISE;
  localparam SOURCES = QUANTPACK_DEPTH != 0 ? 6 : EBS_LINES != 0 ? 4 : 3;

  wire [7:0] ready;
  wire [5:0] valid, last;
  /* verilator lint_off UNUSEDSIGNAL */ wire [5:0] taken; /* verilator lint_on UNUSEDSIGNAL */  // the last ones are EBS's and quantpack's
  wire [127:0] data_0, data_1, data_2, data_3, data_4, data_5;
  assign in_ready = ready[in_target];
  assign ready[7:6] = 2'b11;

  wire [SOURCES-1:0] turn_of;
  /* verilator lint_off WIDTHEXPAND */ wire [5:0] turn = turn_of; /* verilator lint_on WIDTHEXPAND */  // nobody's is 0
  packet_turns #(
      .COUNT(SOURCES)
  ) turns (
      .*,
      .valid(valid[SOURCES-1:0]),
      .ends(out_valid && out_ready && out_last),
      .turn(turn_of)
  );
  assign out_valid  = |(turn & valid);
  assign out_last   = |(turn & last);
  assign out_source = {turn[4] | turn[5], turn[2] | turn[3], turn[1] | turn[3] | turn[5]};
  assign out_data   = turn[5] ? data_5 : turn[4] ? data_4 : turn[3] ? data_3 : turn[2] ? data_2 : turn[1] ? data_1 : data_0;
  assign taken      = turn & {6{out_ready}};

  wire [$clog2(LINES)-1:0] write_line;
  wire [511:0] write_data;
  wire write;
  /* verilator lint_off UNUSEDSIGNAL */  // without EBS_LINES
  wire write_ebs;
  wire [15:0] ebs_line;
  /* verilator lint_on UNUSEDSIGNAL */
  wire [511:0] ebs_data;
  wire [7:0] axil_addr;
  wire [2:0] axil_engine;
  wire axil_awvalid, axil_wvalid, axil_arvalid;
  wire [31:0] axil_wdata, rdata_0, rdata_1, rdata_4, rdata_6;
  wire [7:0] awready, wready, bvalid, arready, rvalid;
  // 5 is no engine and has one register, with the lines; 7 is nothing.
  assign {awready[5], wready[5], bvalid[5], arready[5], rvalid[5]} = 5'b11111;
  assign {awready[7], wready[7], bvalid[7], arready[7], rvalid[7]} = 5'b11111;
  assign {awready[3:2], wready[3:2], bvalid[3:2]} = {m_axil_awready, m_axil_wready, m_axil_bvalid};
  assign {arready[3:2], rvalid[3:2]} = {m_axil_arready, m_axil_rvalid};
  wire [1:0] further = {axil_engine == 3, axil_engine == 2};
  assign m_axil_addr    = axil_addr;
  assign m_axil_awvalid = further & {2{axil_awvalid}};
  assign m_axil_wdata   = axil_wdata;
  assign m_axil_wvalid  = further & {2{axil_wvalid}};
  assign m_axil_arvalid = further & {2{axil_arvalid}};
  wire [31:0] further_rdata = axil_engine[1:0] == 0 ? rdata_4 : axil_engine[1:0] == 1 ? EBS_LINES
      : axil_engine[1:0] == 2 ? rdata_6 : 32'b0;
  wire [31:0] rdata = axil_engine[2] ? further_rdata : axil_engine[1:0] == 0 ? rdata_0 : axil_engine[1:0] == 1 ? rdata_1
      : axil_engine[1:0] == 2 ? m_axil_rdata[31:0] : m_axil_rdata[63:32];
  control_port #(
      .LINES(LINES),
      .COUNTERS(COUNTERS),
      .ENTRIES(ENTRIES),
      .EBS_LINES(EBS_LINES),
      .ENGINES(SOURCES == 3 ? 4 : 8)
  ) control (
      .*,
      .s_axis_tdata(in_data),
      .s_axis_tkeep(in_keep),
      .s_axis_tlast(in_last),
      .s_axis_tvalid(in_valid && in_target == CONTROL),
      .s_axis_tready(ready[CONTROL]),
      .m_axis_tdata(data_2),
      .m_axis_tlast(last[CONTROL]),
      .m_axis_tvalid(valid[CONTROL]),
      .m_axis_tready(taken[CONTROL]),
      .m_axil_addr(axil_addr),
      .m_axil_engine(axil_engine),
      .m_axil_awvalid(axil_awvalid),
      .m_axil_awready(awready[axil_engine]),
      .m_axil_wdata(axil_wdata),
      .m_axil_wvalid(axil_wvalid),
      .m_axil_wready(wready[axil_engine]),
      .m_axil_bvalid(bvalid[axil_engine]),
      .m_axil_arvalid(axil_arvalid),
      .m_axil_arready(arready[axil_engine]),
      .m_axil_rdata(rdata),
      .m_axil_rvalid(rvalid[axil_engine])
  );

  // Tables of ebs_lookup: each of its ports has a copy of its own of what the host writes.
  generate
    if (EBS_LINES == 0) begin : no_ebs  // nobody asks for it
      assign {ready[EBS], valid[EBS], last[EBS], data_3, ebs_data} = {1'b1, 642'b0};
      assign {awready[4], wready[4], bvalid[4], arready[4], rvalid[4], rdata_4} = {5'b11111, 32'b0};
    end else begin : ebs
      wire [63:0] volumes_araddr;
      wire volumes_arvalid, volumes_arready, volumes_rvalid, volumes_rready;
      wire [511:0] volumes_rdata;
      wire [1:0] volumes_rresp;
      wire [63:0] entries_araddr;
      wire entries_arvalid, entries_arready, entries_rvalid, entries_rready;
      wire [63:0] entries_rdata;
      wire [1:0] entries_rresp;
      wire [63:0] addresses_araddr;
      wire addresses_arvalid, addresses_arready, addresses_rvalid, addresses_rready;
      wire [63:0] addresses_rdata;
      wire [1:0] addresses_rresp;
      wire [63:0] volumes_awaddr;
      wire volumes_awvalid, volumes_awready, volumes_wvalid, volumes_wready, volumes_bvalid, volumes_bready;
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
          .s_axi_araddr(volumes_araddr),
          .s_axi_arvalid(volumes_arvalid),
          .s_axi_arready(volumes_arready),
          .s_axi_rdata(volumes_rdata),
          .s_axi_rresp(volumes_rresp),
          .s_axi_rvalid(volumes_rvalid),
          .s_axi_rready(volumes_rready),
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
          .s_axi_araddr(entries_araddr),
          .s_axi_arvalid(entries_arvalid),
          .s_axi_arready(entries_arready),
          .s_axi_rdata(entries_rdata),
          .s_axi_rresp(entries_rresp),
          .s_axi_rvalid(entries_rvalid),
          .s_axi_rready(entries_rready)
      );

      word_memory #(
          .LINES(EBS_LINES)
      ) addresses (
          .*,
          .write_line(ebs_line[$clog2(EBS_LINES)-1:0]),
          .write(write_ebs),
          .s_axi_araddr(addresses_araddr),
          .s_axi_arvalid(addresses_arvalid),
          .s_axi_arready(addresses_arready),
          .s_axi_rdata(addresses_rdata),
          .s_axi_rresp(addresses_rresp),
          .s_axi_rvalid(addresses_rvalid),
          .s_axi_rready(addresses_rready)
      );

      ebs_lookup #(
          .WIDTH(128),
          .FLIGHT(FLIGHT)
      ) engine (
          .*,
          .s_axil_awaddr(axil_addr),
          .s_axil_awprot(3'b0),
          .s_axil_awvalid(axil_awvalid && axil_engine == 4),
          .s_axil_awready(awready[4]),
          .s_axil_wdata(axil_wdata),
          .s_axil_wstrb(4'hF),
          .s_axil_wvalid(axil_wvalid && axil_engine == 4),
          .s_axil_wready(wready[4]),
          /* verilator lint_off PINCONNECTEMPTY */ .s_axil_bresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
          .s_axil_bvalid(bvalid[4]),
          .s_axil_bready(1'b1),
          .s_axil_araddr(axil_addr),
          .s_axil_arprot(3'b0),
          .s_axil_arvalid(axil_arvalid && axil_engine == 4),
          .s_axil_arready(arready[4]),
          .s_axil_rdata(rdata_4),
          /* verilator lint_off PINCONNECTEMPTY */ .s_axil_rresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
          .s_axil_rvalid(rvalid[4]),
          .s_axil_rready(1'b1),
          .s_axis_tdata(in_data),
          .s_axis_tkeep(in_keep),
          .s_axis_tlast(in_last),
          .s_axis_tvalid(in_valid && in_target == EBS),
          .s_axis_tready(ready[EBS]),
          .m_axis_tdata(data_3),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axis_tkeep(), /* verilator lint_on PINCONNECTEMPTY */  // beats are whole
          .m_axis_tlast(last[EBS]),
          .m_axis_tvalid(valid[EBS]),
          .m_axis_tready(taken[EBS]),
          .m_axi_volumes_araddr(volumes_araddr),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_arlen(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_arsize(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_arburst(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
          .m_axi_volumes_arvalid(volumes_arvalid),
          .m_axi_volumes_arready(volumes_arready),
          .m_axi_volumes_rdata(volumes_rdata),
          .m_axi_volumes_rresp(volumes_rresp),
          .m_axi_volumes_rlast(1'b1),
          .m_axi_volumes_rvalid(volumes_rvalid),
          .m_axi_volumes_rready(volumes_rready),
          .m_axi_volumes_awaddr(volumes_awaddr),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_awlen(), /* verilator lint_on PINCONNECTEMPTY */  // a write is one bucket
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_awsize(), /* verilator lint_on PINCONNECTEMPTY */  // a write is one bucket
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_awburst(), /* verilator lint_on PINCONNECTEMPTY */  // a write is one bucket
          .m_axi_volumes_awvalid(volumes_awvalid),
          .m_axi_volumes_awready(volumes_awready),
          .m_axi_volumes_wdata(volumes_wdata),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_wstrb(), /* verilator lint_on PINCONNECTEMPTY */  // a write is one bucket
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_volumes_wlast(), /* verilator lint_on PINCONNECTEMPTY */  // a write is one bucket
          .m_axi_volumes_wvalid(volumes_wvalid),
          .m_axi_volumes_wready(volumes_wready),
          .m_axi_volumes_bresp(volumes_bresp),
          .m_axi_volumes_bvalid(volumes_bvalid),
          .m_axi_volumes_bready(volumes_bready),
          .m_axi_entries_araddr(entries_araddr),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_entries_arlen(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_entries_arsize(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_entries_arburst(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          .m_axi_entries_arvalid(entries_arvalid),
          .m_axi_entries_arready(entries_arready),
          .m_axi_entries_rdata(entries_rdata),
          .m_axi_entries_rresp(entries_rresp),
          .m_axi_entries_rlast(1'b1),
          .m_axi_entries_rvalid(entries_rvalid),
          .m_axi_entries_rready(entries_rready),
          .m_axi_addresses_araddr(addresses_araddr),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_addresses_arlen(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_addresses_arsize(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          /* verilator lint_off PINCONNECTEMPTY */ .m_axi_addresses_arburst(), /* verilator lint_on PINCONNECTEMPTY */  // a read is eight bytes
          .m_axi_addresses_arvalid(addresses_arvalid),
          .m_axi_addresses_arready(addresses_arready),
          .m_axi_addresses_rdata(addresses_rdata),
          .m_axi_addresses_rresp(addresses_rresp),
          .m_axi_addresses_rlast(1'b1),
          .m_axi_addresses_rvalid(addresses_rvalid),
          .m_axi_addresses_rready(addresses_rready)
      );
    end
  endgenerate

  // quantpack, whose beats are twice as wide, with a target for each way.
  generate
    if (QUANTPACK_DEPTH == 0) begin : no_quantpack  // nobody asks for it
      assign {ready[5:4], valid[5:4], last[5:4], data_4, data_5, rdata_6} = {2'b11, 292'b0};
      assign {awready[6], wready[6], bvalid[6], arready[6], rvalid[6]} = 5'b11111;
    end else begin : quantiser
      wire [255:0] there_data, there_answer;
      wire [31:0] there_keep;
      wire there_last, there_valid, there_ready, there_answer_last, there_answer_valid, there_answer_ready;
      widen there_in (
          .*,
          .in_valid(in_valid && in_target == QUANTISE),
          .in_ready(ready[QUANTISE]),
          .out_data(there_data),
          .out_keep(there_keep),
          .out_last(there_last),
          .out_valid(there_valid),
          .out_ready(there_ready)
      );
      narrow #(
          .MOST((MOST_ANSWER - 1) / 2)
      ) there_out (
          .*,
          .in_data(there_answer),
          .in_last(there_answer_last),
          .in_valid(there_answer_valid),
          .in_ready(there_answer_ready),
          .out_data(data_4),
          .out_last(last[QUANTISE]),
          .out_valid(valid[QUANTISE]),
          .out_ready(taken[QUANTISE])
      );

      wire [255:0] back_data, back_answer;
      wire [31:0] back_keep;
      wire back_last, back_valid, back_ready, back_answer_last, back_answer_valid, back_answer_ready;
      widen back_in (
          .*,
          .in_valid(in_valid && in_target == DEQUANTISE),
          .in_ready(ready[DEQUANTISE]),
          .out_data(back_data),
          .out_keep(back_keep),
          .out_last(back_last),
          .out_valid(back_valid),
          .out_ready(back_ready)
      );
      narrow #(
          .MOST((MOST_ANSWER - 1) / 2)
      ) back_out (
          .*,
          .in_data(back_answer),
          .in_last(back_answer_last),
          .in_valid(back_answer_valid),
          .in_ready(back_answer_ready),
          .out_data(data_5),
          .out_last(last[DEQUANTISE]),
          .out_valid(valid[DEQUANTISE]),
          .out_ready(taken[DEQUANTISE])
      );

      quantpack #(
          .WIDTH(256),
          .DEPTH(QUANTPACK_DEPTH)
      ) engine (
          .*,
          .s_axil_awaddr(axil_addr),
          .s_axil_awprot(3'b0),
          .s_axil_awvalid(axil_awvalid && axil_engine == 6),
          .s_axil_awready(awready[6]),
          .s_axil_wdata(axil_wdata),
          .s_axil_wstrb(4'hF),
          .s_axil_wvalid(axil_wvalid && axil_engine == 6),
          .s_axil_wready(wready[6]),
          /* verilator lint_off PINCONNECTEMPTY */ .s_axil_bresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
          .s_axil_bvalid(bvalid[6]),
          .s_axil_bready(1'b1),
          .s_axil_araddr(axil_addr),
          .s_axil_arprot(3'b0),
          .s_axil_arvalid(axil_arvalid && axil_engine == 6),
          .s_axil_arready(arready[6]),
          .s_axil_rdata(rdata_6),
          /* verilator lint_off PINCONNECTEMPTY */ .s_axil_rresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
          .s_axil_rvalid(rvalid[6]),
          .s_axil_rready(1'b1),
          .s_axis_values_tdata(there_data),
          .s_axis_values_tkeep(there_keep),
          .s_axis_values_tlast(there_last),
          .s_axis_values_tvalid(there_valid),
          .s_axis_values_tready(there_ready),
          .m_axis_codes_tdata(there_answer),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axis_codes_tkeep(), /* verilator lint_on PINCONNECTEMPTY */  // beats are whole
          .m_axis_codes_tlast(there_answer_last),
          .m_axis_codes_tvalid(there_answer_valid),
          .m_axis_codes_tready(there_answer_ready),
          .s_axis_codes_tdata(back_data),
          .s_axis_codes_tkeep(back_keep),
          .s_axis_codes_tlast(back_last),
          .s_axis_codes_tvalid(back_valid),
          .s_axis_codes_tready(back_ready),
          .m_axis_values_tdata(back_answer),
          /* verilator lint_off PINCONNECTEMPTY */ .m_axis_values_tkeep(), /* verilator lint_on PINCONNECTEMPTY */  // beats are whole
          .m_axis_values_tlast(back_answer_last),
          .m_axis_values_tvalid(back_answer_valid),
          .m_axis_values_tready(back_answer_ready)
      );
    end
  endgenerate

  wire [63:0] read_0_araddr;
  wire read_0_arvalid, read_0_arready, read_0_rvalid, read_0_rready;
  wire [511:0] read_0_rdata;
  wire [1:0] read_0_rresp;
  line_memory #(
      .LINES(LINES)
  ) table_0 (
      .*,
      .s_axi_araddr(read_0_araddr),
      .s_axi_arvalid(read_0_arvalid),
      .s_axi_arready(read_0_arready),
      .s_axi_rdata(read_0_rdata),
      .s_axi_rresp(read_0_rresp),
      .s_axi_rvalid(read_0_rvalid),
      .s_axi_rready(read_0_rready)
  );

  wire [63:0] read_1_araddr;
  wire read_1_arvalid, read_1_arready, read_1_rvalid, read_1_rready;
  wire [511:0] read_1_rdata;
  wire [1:0] read_1_rresp;
  line_memory #(
      .LINES(LINES)
  ) table_1 (
      .*,
      .s_axi_araddr(read_1_araddr),
      .s_axi_arvalid(read_1_arvalid),
      .s_axi_arready(read_1_arready),
      .s_axi_rdata(read_1_rdata),
      .s_axi_rresp(read_1_rresp),
      .s_axi_rvalid(read_1_rvalid),
      .s_axi_rready(read_1_rready)
  );

  kvs_lookup #(
      .WIDTH(128),
      .FLIGHT(FLIGHT),
      .LINE_BUFFERS(0)
  ) kvs (
      .*,
      .s_axil_awaddr(axil_addr),
      .s_axil_awprot(3'b0),
      .s_axil_awvalid(axil_awvalid && axil_engine == 0),
      .s_axil_awready(awready[0]),
      .s_axil_wdata(axil_wdata),
      .s_axil_wstrb(4'hF),
      .s_axil_wvalid(axil_wvalid && axil_engine == 0),
      .s_axil_wready(wready[0]),
      /* verilator lint_off PINCONNECTEMPTY */ .s_axil_bresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
      .s_axil_bvalid(bvalid[0]),
      .s_axil_bready(1'b1),
      .s_axil_araddr(axil_addr),
      .s_axil_arprot(3'b0),
      .s_axil_arvalid(axil_arvalid && axil_engine == 0),
      .s_axil_arready(arready[0]),
      .s_axil_rdata(rdata_0),
      /* verilator lint_off PINCONNECTEMPTY */ .s_axil_rresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
      .s_axil_rvalid(rvalid[0]),
      .s_axil_rready(1'b1),
      .s_axis_tdata(in_data),
      .s_axis_tkeep(in_keep),
      .s_axis_tlast(in_last),
      .s_axis_tvalid(in_valid && in_target == KVS),
      .s_axis_tready(ready[KVS]),
      .m_axis_tdata(data_0),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axis_tkeep(), /* verilator lint_on PINCONNECTEMPTY */  // beats are whole
      .m_axis_tlast(last[KVS]),
      .m_axis_tvalid(valid[KVS]),
      .m_axis_tready(taken[KVS]),
      .m_axi_0_araddr(read_0_araddr),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_0_arlen(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_0_arsize(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_0_arburst(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      .m_axi_0_arvalid(read_0_arvalid),
      .m_axi_0_arready(read_0_arready),
      .m_axi_0_rdata(read_0_rdata),
      .m_axi_0_rresp(read_0_rresp),
      .m_axi_0_rlast(1'b1),
      .m_axi_0_rvalid(read_0_rvalid),
      .m_axi_0_rready(read_0_rready),
      .m_axi_1_araddr(read_1_araddr),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_1_arlen(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_1_arsize(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      /* verilator lint_off PINCONNECTEMPTY */ .m_axi_1_arburst(), /* verilator lint_on PINCONNECTEMPTY */  // a read is one line
      .m_axi_1_arvalid(read_1_arvalid),
      .m_axi_1_arready(read_1_arready),
      .m_axi_1_rdata(read_1_rdata),
      .m_axi_1_rresp(read_1_rresp),
      .m_axi_1_rlast(1'b1),
      .m_axi_1_rvalid(read_1_rvalid),
      .m_axi_1_rready(read_1_rready)
  );

  reduce #(
      .WIDTH(128),
      .DEPTH(DEPTH),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .BFLOAT16S(0)
  ) sums (
      .*,
      .s_axil_awaddr(axil_addr),
      .s_axil_awprot(3'b0),
      .s_axil_awvalid(axil_awvalid && axil_engine == 1),
      .s_axil_awready(awready[1]),
      .s_axil_wdata(axil_wdata),
      .s_axil_wstrb(4'hF),
      .s_axil_wvalid(axil_wvalid && axil_engine == 1),
      .s_axil_wready(wready[1]),
      /* verilator lint_off PINCONNECTEMPTY */ .s_axil_bresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
      .s_axil_bvalid(bvalid[1]),
      .s_axil_bready(1'b1),
      .s_axil_araddr(axil_addr),
      .s_axil_arprot(3'b0),
      .s_axil_arvalid(axil_arvalid && axil_engine == 1),
      .s_axil_arready(arready[1]),
      .s_axil_rdata(rdata_1),
      /* verilator lint_off PINCONNECTEMPTY */ .s_axil_rresp(), /* verilator lint_on PINCONNECTEMPTY */  // registers have no errors
      .s_axil_rvalid(rvalid[1]),
      .s_axil_rready(1'b1),
      .s_axis_tdata(in_data),
      .s_axis_tkeep(in_keep),
      .s_axis_tlast(in_last),
      .s_axis_tvalid(in_valid && in_target == REDUCE),
      .s_axis_tready(ready[REDUCE]),
      .m_axis_tdata(data_1),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axis_tkeep(), /* verilator lint_on PINCONNECTEMPTY */  // beats are whole
      .m_axis_tlast(last[REDUCE]),
      .m_axis_tvalid(valid[REDUCE]),
      .m_axis_tready(taken[REDUCE])
  );
endmodule
