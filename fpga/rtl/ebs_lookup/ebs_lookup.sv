// SPDX-License-Identifier: Apache-2.0
// Looks up the blocks of reads: token bucket, block table and address table in memory (specification section 9; model:
// offramp.leo.functions.ebs).
//
// A request packet is a header (function 0, number of words, number of the request) and reads of three words; the answer
// packet has two words for each, in the same order, and a completion; its count is of words. Up to FLIGHT reads are under
// way. Two of one volume follow each other, since each leaves the bucket changed: a read of a volume takes the latencies
// of three reads and a write of memory, reads of others go on meanwhile, as fast as one in three cycles.
`include "axi.svh"
module ebs_lookup #(
    // Bits of a beat, a multiple of 64, 128 or more.
    parameter WIDTH  = 512,
    // Reads under way, a power of two, 2 or more.
    parameter FLIGHT = 64
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH),
    `AXI_READS(m_axi_volumes, 512),
    `AXI_WRITES(m_axi_volumes, 512),
    `AXI_READS(m_axi_entries, 64),
    `AXI_READS(m_axi_addresses, 64)
);

  wire cancel;
  wire [63:0] base;
  wire [31:0] volumes, entries_at, addresses_at, segments;
  reg [31:0] lookups, faults;
  reg poison;  // an abort is waiting for what was in flight
  wire parse_idle, all_idle, half_read, faulty;

  ebs_lookup_regs regs (
      .*,
      .hwif_out_control_abort(cancel),
      .hwif_in_status_busy(!parse_idle || !all_idle || m_axis_tvalid),
      .hwif_out_base_low_value(base[31:0]),
      .hwif_out_base_high_value(base[63:32]),
      .hwif_out_volumes_value(volumes),
      .hwif_out_entries_value(entries_at),
      .hwif_out_addresses_value(addresses_at),
      .hwif_out_segments_value(segments),
      .hwif_in_lookups_value(lookups),
      .hwif_in_faults_value(faults)
  );

  // Where the tables of entries and of addresses begin; their first address is that of number 1. Registers of the host,
  // which change between packets.
  reg [63:0] entries_base, addresses_base, addresses_begin;
  wire [63:0] entries_sum, addresses_sum, before_first;
  wire [6:0] unused_carries;  // tables lie below the end of the address space
  wire unused_borrow;
  wide_add entries_from (
      .a(base),
      .b({32'b0, entries_at}),
      .sum({unused_carries[0], entries_sum})
  );
  wide_add addresses_from (
      .a(base),
      .b({32'b0, addresses_at}),
      .sum({unused_carries[1], addresses_sum})
  );
  wide_subtract addresses_before (
      .a(addresses_begin),
      .b(64'd8),
      .difference(before_first),
      .borrow(unused_borrow)
  );
  always @(posedge clk) begin
    entries_base    <= entries_sum;
    addresses_begin <= addresses_sum;
    addresses_base  <= before_first;
  end

  // The effect of an AXI response on a packet.
  function [7:0] status_of(input [1:0] response);
    status_of = response == 3 ? device_pkg::OUT_OF_BOUNDS : response == 2 ? device_pkg::FAILED : device_pkg::OK;
  endfunction

  wire token_end, token_valid, token_ready;
  wire [7:0] token_status;
  wire [63:0] token_word;

  kvs_parse #(
      .WIDTH(WIDTH)
  ) parse (
      .*,
      .idle(parse_idle)
  );

  wire a_end, a_asks, a_valid, a_ready;
  wire [7:0] a_status;
  wire [191:0] a_request;

  ebs_gather gather (
      .*,
      .out_end(a_end),
      .out_status(a_status),
      .out_request(a_request),
      .out_asks(a_asks),
      .out_valid(a_valid),
      .out_ready(a_ready)
  );

  // The volume's line.
  wire conflict, room, released, volume_ready;
  wire a_goes = a_valid && !poison && (!a_asks || (!conflict && room));
  assign a_ready = a_goes && volume_ready;

  wire [63:0] a_address;
  wide_add volume_at (
      .a(base),
      .b({26'b0, a_request[31:0], 6'b0}),
      .sum({unused_carries[2], a_address})
  );

  ebs_claims #(
      .FLIGHT(FLIGHT)
  ) claims (
      .*,
      .volume(a_request[31:0]),
      .claim(a_ready && a_asks),
      .release_first(released)
  );

  wire b_end, b_asked, b_valid, b_ready, b_idle;
  wire [7:0] b_status;
  wire [191:0] b_request;
  /* verilator lint_off UNUSEDSIGNAL */ wire [511:0] b_line; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  wire [1:0] b_response;

  ebs_stage #(
      .ITEM(201),
      .LINE(512),
      .SIZE(6),
      .FLIGHT(FLIGHT)
  ) volume (
      .*,
      .idle(b_idle),
      .in_item({a_end, a_status, a_request}),
      .in_asks(a_asks),
      .in_address(a_address),
      .in_valid(a_goes),
      .in_ready(volume_ready),
      `AXI_READS_JOIN(m_axi, m_axi_volumes),
      .out_item({b_end, b_status, b_request}),
      .out_asked(b_asked),
      .out_line(b_line),
      .out_response(b_response),
      .out_valid(b_valid),
      .out_ready(b_ready)
  );

  // Checks of the read against its volume, computed in one cycle and judged in the next.
  wire [31:0] b_count = b_request[63:32];
  wire [63:0] b_start = b_request[127:64], b_blocks = b_line[127:64];
  wire [63:0] b_free;  // where the last read of so many blocks may start
  wire b_more;  // more blocks than there are
  wide_subtract remaining (
      .a(b_blocks),
      .b({32'b0, b_count}),
      .difference(b_free),
      .borrow(b_more)
  );
  /* verilator lint_off UNUSEDSIGNAL */ wire [56:0] b_entry; /* verilator lint_on UNUSEDSIGNAL */  // number of the entry in the block table; the other bits are not needed
  wide_add #(
      .WIDTH(56)
  ) entry_number (
      .a({1'b0, b_start[63:9]}),
      .b({24'b0, b_line[31:0]}),
      .sum(b_entry)
  );
  wire [32:0] b_last = {24'b0, b_start[8:0]} + {1'b0, b_count};
  wire b_lost = !b_asked || b_response != 0 || b_blocks == 0;
  wire b_range = b_count == 0 || b_more;
  wire [7:0] b_fault = b_end ? b_status : b_asked ? status_of(b_response) : device_pkg::OK;

  // end, claimed, status, outcome; tick or number, volume, blocks, within; rate, burst, tokens, last
  localparam ITEM = 1 + 1 + 8 + 3 + 64 + 32 + 10 + 9 + 32 + 64 + 64 + 64;
  localparam AHEAD = 1 + 1 + 8, BEHIND = ITEM - AHEAD - 3;  // bits before and after the outcome

  wire [AHEAD-1:0] m_ahead;
  wire [BEHIND-1:0] m_behind;
  wire [63:0] m_start, m_free;
  wire [32:0] m_last;
  wire [55:0] m_entry;
  wire m_lost, m_range, m_valid, m_ready;
  skid_buffer #(
      .WIDTH(ITEM - 3 + 64 + 64 + 33 + 56 + 2)
  ) measured (
      .clk(clk),
      .rst(rst),
      .in_data({
        b_end, b_asked, b_fault,
        b_end ? b_request[63:0] : b_request[191:128], b_request[31:0], b_count[9:0], b_start[8:0],
        b_line[159:128], b_line[255:192], b_line[319:256], b_line[383:320],
        b_start, b_free, b_last, b_entry[55:0], b_lost, b_range
      }),
      .in_valid(b_valid),
      .in_ready(b_ready),
      .out_data({m_ahead, m_behind, m_start, m_free, m_last, m_entry, m_lost, m_range}),
      .out_valid(m_valid),
      .out_ready(m_ready)
  );

  wire [63:0] unused_room;
  wire m_beyond;
  wide_subtract fitting (
      .a(m_free),
      .b(m_start),
      .difference(unused_room),
      .borrow(m_beyond)
  );
  wire [2:0] m_outcome = m_lost ? device_pkg::NO_VOLUME : m_range || m_beyond ? device_pkg::OUT_OF_RANGE
      : m_last > 512 ? device_pkg::SPLIT : device_pkg::FOUND;

  wire [ITEM-1:0] c_item;
  wire [55:0] c_entry;
  wire c_asks, c_valid, c_ready;
  skid_buffer #(
      .WIDTH(ITEM + 56 + 1)
  ) judged (
      .*,
      .in_data({m_ahead, m_outcome, m_behind, m_entry, !m_ahead[AHEAD-1] && m_outcome == device_pkg::FOUND}),
      .in_valid(m_valid),
      .in_ready(m_ready),
      .out_data({c_item, c_entry, c_asks}),
      .out_valid(c_valid),
      .out_ready(c_ready)
  );

  // The entry of the block table.
  wire [ITEM-1:0] d_item;
  wire d_asked, d_valid, d_ready, d_idle;
  wire [63:0] d_line;
  wire [1:0] d_response;
  wire [63:0] c_address, d_address;
  wide_add entry_at (
      .a(entries_base),
      .b({5'b0, c_entry, 3'b0}),
      .sum({unused_carries[3], c_address})
  );

  ebs_stage #(
      .ITEM(ITEM),
      .FLIGHT(FLIGHT)
  ) entry (
      .*,
      .idle(d_idle),
      .in_item(c_item),
      .in_asks(c_asks),
      .in_address(c_address),
      .in_valid(c_valid),
      .in_ready(c_ready),
      `AXI_READS_JOIN(m_axi, m_axi_entries),
      .out_item(d_item),
      .out_asked(d_asked),
      .out_line(d_line),
      .out_response(d_response),
      .out_valid(d_valid),
      .out_ready(d_ready)
  );

  wire [31:0] d_server = d_line[31:0], d_stored = d_line[63:32];
  wire d_there = d_response == 0 && d_stored != 0 && d_stored <= segments;
  wire [7:0] d_fault = d_asked && d_response != 0 ? status_of(d_response) : d_item[ITEM-3-:8];
  wire [2:0] d_outcome = d_asked && !d_there ? device_pkg::UNMAPPED : d_item[ITEM-11-:3];
  wire [ITEM-1:0] d_new = {d_item[ITEM-1-:2], d_fault, d_outcome, d_item[ITEM-14:0]};

  // The segment's address.
  wide_add segment_at (
      .a(addresses_base),
      .b({29'b0, d_stored, 3'b0}),
      .sum({unused_carries[4], d_address})
  );
  wire [ITEM+31:0] e_item;
  wire e_asked, e_valid, e_ready, e_idle;
  wire [63:0] e_line;
  wire [1:0] e_response;

  ebs_stage #(
      .ITEM(ITEM + 32),
      .FLIGHT(FLIGHT)
  ) address (
      .*,
      .idle(e_idle),
      .in_item({d_server, d_new}),
      .in_asks(d_asked && d_there),
      .in_address(d_address),
      .in_valid(d_valid),
      .in_ready(d_ready),
      `AXI_READS_JOIN(m_axi, m_axi_addresses),
      .out_item(e_item),
      .out_asked(e_asked),
      .out_line(e_line),
      .out_response(e_response),
      .out_valid(e_valid),
      .out_ready(e_ready)
  );

  wire e_end, e_claimed;
  wire [7:0] e_status;
  wire [2:0] e_outcome;
  wire [63:0] e_tick, e_burst, e_tokens, e_last;
  wire [31:0] e_server, e_volume, e_rate;
  wire [9:0] e_count;
  wire [8:0] e_within;
  assign {e_server, e_end, e_claimed, e_status, e_outcome, e_tick, e_volume, e_count, e_within, e_rate, e_burst, e_tokens, e_last}
      = e_item;
  wire [7:0] e_fault = e_asked && e_response != 0 ? status_of(e_response) : e_status;
  wire [2:0] e_result = e_asked && (e_response != 0 || e_line == 0) ? device_pkg::UNMAPPED : e_outcome;
  wire [63:0] e_address;
  wide_add block_at (
      .a(e_line),
      .b({43'b0, e_within, 12'b0}),
      .sum({unused_carries[5], e_address})
  );

  // The bucket, which never stalls: what is in it has a place in the queue behind.
  localparam DONE = 1 + 1 + 8 + 3 + 64 + 32 + 32 + 64;
  wire f_end, f_claimed, f_enough, f_valid, g_valid, g_ready;
  wire [7:0] f_status;
  wire [2:0] f_outcome;
  wire [63:0] f_number, f_address, f_tokens, f_tick;
  wire [31:0] f_volume, f_server;
  reg [$clog2(FLIGHT):0] places;
  assign e_ready = places != 0;
  always @(posedge clk) places <= rst ? FLIGHT : places - (e_valid && e_ready) + (g_valid && g_ready);

  ebs_bucket #(
      .ITEM(DONE)
  ) bucket (
      .*,
      .in_item({e_end, e_claimed, e_fault, e_result, e_tick, e_volume, e_server, e_address}),
      .in_tick(e_tick),
      .in_last(e_last),
      .in_rate(e_rate),
      .in_burst(e_burst),
      .in_tokens(e_tokens),
      .in_wanted({42'b0, e_count, 12'b0}),
      .in_valid(e_valid && e_ready),
      .out_item({f_end, f_claimed, f_status, f_outcome, f_number, f_volume, f_server, f_address}),
      .out_enough(f_enough),
      .out_tokens(f_tokens),
      .out_tick(f_tick),
      .out_valid(f_valid)
  );

  wire f_success = !f_end && f_outcome == device_pkg::FOUND && f_enough && f_status == device_pkg::OK;
  wire [2:0] f_reported = f_outcome == device_pkg::FOUND && !f_enough ? device_pkg::WAIT : f_outcome;
  wire [63:0] f_low = f_end ? f_number : {f_success ? f_server : 32'b0, 29'b0, f_reported};
  wire g_end, g_claimed, g_writes;
  wire [7:0] g_status;
  wire [31:0] g_volume;
  wire [63:0] g_low, g_high, g_tokens, g_tick;

  fifo #(
      .WIDTH(1 + 1 + 1 + 8 + 32 + 4 * 64),
      .DEPTH(FLIGHT)
  ) judged_reads (
      .*,
      .in_data({f_end, f_claimed, f_success, f_status, f_volume, f_low, f_success ? f_address : 64'b0, f_tokens, f_tick}),
      .in_valid(f_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // places counts; credits have counted what comes
      .out_data({g_end, g_claimed, g_writes, g_status, g_volume, g_low, g_high, g_tokens, g_tick}),
      .out_valid(g_valid),
      .out_ready(g_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  // The bucket goes back to memory; only then is the read answered and its volume free.
  wire aw_ready, w_ready, h_room;
  assign g_ready = h_room && (!g_writes || (aw_ready && w_ready));
  wire writes = g_valid && g_ready && g_writes;
  wire [63:0] g_address;
  wide_add bucket_at (
      .a(base),
      .b({26'b0, g_volume, 6'b0}),
      .sum({unused_carries[6], g_address})
  );

  skid_buffer #(
      .WIDTH(64)
  ) write_address (
      .*,
      .in_data(g_address),
      .in_valid(writes),
      .in_ready(aw_ready),
      .out_data(m_axi_volumes_awaddr),
      .out_valid(m_axi_volumes_awvalid),
      .out_ready(m_axi_volumes_awready)
  );

  skid_buffer #(
      .WIDTH(128)
  ) write_data (
      .*,
      .in_data({g_tick, g_tokens}),
      .in_valid(writes),
      .in_ready(w_ready),
      .out_data(m_axi_volumes_wdata[383:256]),
      .out_valid(m_axi_volumes_wvalid),
      .out_ready(m_axi_volumes_wready)
  );

  assign m_axi_volumes_awlen = 8'd0;
  assign m_axi_volumes_awsize = 3'd6;
  assign m_axi_volumes_awburst = 2'b01;
  assign m_axi_volumes_wdata[255:0] = 256'b0;
  assign m_axi_volumes_wdata[511:384] = 128'b0;
  assign m_axi_volumes_wstrb = 64'h0000FFFF00000000;  // tokens and tick
  assign m_axi_volumes_wlast = 1'b1;

  wire h_end, h_claimed, h_wrote, h_valid, h_ready;
  wire [7:0] h_status;
  wire [63:0] h_low, h_high;

  fifo #(
      .WIDTH(1 + 1 + 1 + 8 + 128),
      .DEPTH(FLIGHT)
  ) answers (
      .*,
      .in_data({g_end, g_claimed, g_writes, g_status, g_low, g_high}),
      .in_valid(g_valid && g_ready),
      .in_ready(h_room),
      .out_data({h_end, h_claimed, h_wrote, h_status, h_low, h_high}),
      .out_valid(h_valid),
      .out_ready(h_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  // Two words for each read.
  reg second;
  wire pack_ready;
  wire h_there = h_valid && (!h_wrote || m_axi_volumes_bvalid);
  wire h_gone = h_there && pack_ready && (h_end || second);
  assign h_ready = h_gone;
  assign released = h_gone && h_claimed;
  assign m_axi_volumes_bready = h_gone && h_wrote;
  always @(posedge clk) second <= !rst && (h_there && pack_ready && !h_end ? !second : second);

  kvs_pack #(
      .WIDTH(WIDTH)
  ) pack (
      .*,
      .looked_up(half_read),
      .token_end(h_end),
      .token_status(h_wrote ? (m_axi_volumes_bresp == 0 ? h_status : status_of(m_axi_volumes_bresp)) : h_status),
      .token_word(second ? h_high : h_low),
      .token_valid(h_there),
      .token_ready(pack_ready)
  );

  assign all_idle = b_idle && !m_valid && !c_valid && d_idle && e_idle && places == FLIGHT && !h_valid;

  reg read_whole, ended_badly;  // counted a cycle later
  always @(posedge clk) begin
    read_whole  <= !rst && half_read && second;
    ended_badly <= !rst && faulty;
    if (rst) begin
      poison  <= 1'b0;
      lookups <= 0;
      faults  <= 0;
    end else begin
      if (cancel) poison <= 1'b1;
      else if (all_idle) poison <= 1'b0;
      lookups <= lookups + read_whole;
      faults  <= faults + ended_badly;
    end
  end
endmodule
