// SPDX-License-Identifier: Apache-2.0
// All-reduce between hosts on one Ethernet (the program p4/allreduce/v1model.p4 with packets of one segment, byte for byte):
// sums of chunks, sent to every rank of the job. A frame takes a cycle for each of its beats, and nine.
//
// The rank's own MAC address takes the place of the switch's port. What leaves is broadcast, so that whatever connects the
// hosts copies it. Bytes behind the lanes are dropped.
module aggregate #(
    // Pages of 256 slots, a power of two, 1 to 256.
    parameter PAGES = 1,
    // Number of jobs at a time, 1 to 4.
    parameter JOBS  = 4
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [JOBS*32-1:0] job_number,
    input  wire [JOBS*32-1:0] job_ranks,    // a bit for each; 0 where there is no job
    input  wire [ JOBS*8-1:0] job_first,    // page
    input  wire [ JOBS*8-1:0] job_pages,    // number of consecutive pages
    input  wire               clear,        // empty a page, before the next frame
    input  wire [        7:0] clear_page,
    output wire               busy,
    input  wire [      127:0] in_data,
    input  wire               in_last,
    input  wire               in_whole,     // switch_check's kind is 2
    input  wire               in_valid,
    output wire               in_ready,
    output wire [      127:0] out_data,
    output wire [        3:0] out_count,
    output wire               out_last,
    output wire               out_valid,
    input  wire               out_ready,
    output reg  [        3:0] outcome,      // of a frame, for a cycle
    output reg                counted
);
  if (PAGES < 1 || PAGES > 256 || (PAGES & (PAGES - 1)) != 0) begin : wrong_PAGES aggregate_needs_PAGES_a_power_of_two_1_to_256 refused (); end
  if (JOBS < 1 || JOBS > 4) begin : wrong_JOBS aggregate_needs_JOBS_from_1_to_4 refused (); end

  localparam SLOTS = PAGES * 256;
  localparam BITS = $clog2(SLOTS);
  localparam [15:0] SHORT = {5'b0, allreduce_pkg::HEADER_BYTES} - 16'd14;  // behind Ethernet
  localparam [2:0] IDLE = 0, FIND = 1, JUDGE = 2, SLOT = 3, LANES = 4;

  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  reg [2:0] state;
  reg [3:0] beat;  // of lanes

  reg asked;  // a page is to be emptied
  wire clearing, between, begins, whole;
  /* verilator lint_off UNUSEDSIGNAL */ wire [allreduce_pkg::HEADER_BYTES*8-1:0] head; /* verilator lint_on UNUSEDSIGNAL */  // a sum says itself who is in it
  wire [127:0] lanes;
  switch_parser #(
      .HEADER_BYTES(allreduce_pkg::HEADER_BYTES)
  ) parser (
      .*,
      .idle(state == IDLE),
      .takes(state == LANES),
      .hold(asked || clearing)
  );

  wire [7:0] page = head[46*8+:8];
  wire [7:0] line = head[47*8+:8];
  wire [7:0] rank = head[50*8+:8];
  wire [7:0] kind = head[51*8+:8];
  wire up = kind == allreduce_pkg::DATA || kind == allreduce_pkg::AGAIN;
  wire [47:0] rank_mac = {switch_pkg::HOSTS_MAC[47:9], {1'b0, rank} + 9'd1};  // whose lowest bits are 0
  wire [47:0] sender = {swap_word(head[6*8+:32]), head[10*8+:8], head[11*8+:8]};

  // FIND: the job, its page and the rank; at most one job has a number.
  reg [31:0] chosen_ranks;
  reg [7:0] chosen_first, chosen_pages;
  reg own_mac;
  integer i;
  always @(posedge clk)
    if (state == FIND) begin
      chosen_ranks <= 0;
      chosen_first <= 0;
      chosen_pages <= 0;
      own_mac     <= sender == rank_mac;
      for (i = 0; i < JOBS; i = i + 1)
      if (job_ranks[i*32+:32] != 0 && job_number[i*32+:32] == swap_word(head[34*8+:32])) begin
        chosen_ranks <= job_ranks[i*32+:32];
        chosen_first <= job_first[i*8+:8];
        chosen_pages <= job_pages[i*8+:8];
      end
    end
  wire [31:0] mask = rank < 32 ? 32'd1 << rank[4:0] : 32'd0;
  /* verilator lint_off UNUSEDSIGNAL */ wire [8:0] at = {1'b0, chosen_first} + {1'b0, page}; /* verilator lint_on UNUSEDSIGNAL */  // registers may name pages that are not there
  wire member = own_mac && (chosen_ranks & mask) != 0 && page < chosen_pages && at < PAGES;
  wire malformed = kind > allreduce_pkg::PULL || (kind != allreduce_pkg::PULL && !whole);
  wire [BITS-1:0] slot;
  generate
    if (PAGES == 1) begin : one_page
      assign slot = line;
    end else begin : more_pages
      assign slot = {at[BITS-9:0], line};
    end
  endgenerate

  wire decided, set, add, harvests, pulls, sender_ready;
  wire [3:0] verdict;
  wire [31:0] present;
  wire [15:0] greatest;
  wire [7:0] flagged;
  reg contributes;  // into aggregate_slots, once

  // A page is emptied between two frames.
  wire empties = asked && between && !clearing;
  wire there = {1'b0, clear_page} < PAGES;
  always @(posedge clk) asked <= !rst && (clear && there || asked && !empties);
  assign busy = asked || clearing || !between;

  aggregate_slots #(
      .SLOTS(SLOTS)
  ) slots (
      .*,
      .clear(empties),
      .chunk(swap_word(head[38*8+:32])),
      .all(chosen_ranks),
      .exponent({head[48*8+:8], head[49*8+:8]}),
      .flags(head[52*8+:8]),
      .again(kind == allreduce_pkg::AGAIN),
      .valid(contributes),
      .done(decided),
      .outcome(verdict)
  );

  // LANES: 16 beats.
  reg sets, adds, leaves;
  wire [127:0] summed;
  wire summed_valid;
  wire in_lanes = state == LANES && in_valid;
  switch_lanes #(
      .DEPTH(SLOTS * 16)
  ) sums (
      .*,
      .in_at({slot, beat}),
      .in_lanes(lanes),
      .in_set(sets),
      .in_add(adds),
      .in_store(sets || adds),
      .in_valid(in_lanes),
      .out_lanes(summed),
      .out_valid(summed_valid)
  );

  // The contribution's headers, changed for a sum or a question.
  wire [7:0] kind_out = pulls ? allreduce_pkg::PULL : allreduce_pkg::RESULT;
  wire [15:0] length_out = pulls ? {SHORT[7:0], SHORT[15:8]} : head[16*8+:16];
  wire [431:0] reply_head = {
    head[53*8+:8],
    flagged,
    kind_out,
    allreduce_pkg::SWITCH_RANK,
    greatest[7:0],
    greatest[15:8],
    head[46*8+:16],
    swap_word(present),
    head[18*8+:24*8],
    length_out,
    head[127:0]
  };
  switch_sender #(
      .HEADER(54),
      .BEATS (16)
  ) reply (
      .*,
      .in_head(reply_head),
      .in_to(48'hFFFFFFFFFFFF),
      .in_bare(pulls),
      .in_valid(decided && (harvests || pulls)),
      .in_ready(sender_ready),
      .lanes(summed),
      .lanes_valid(summed_valid && leaves)
  );

  always @(posedge clk) begin
    counted     <= 1'b0;
    contributes <= 1'b0;
    case (state)
      FIND: begin
        beat  <= 0;
        state <= JUDGE;
      end
      JUDGE:
      if (malformed || !up || !member) begin
        outcome <= malformed ? allreduce_pkg::MALFORMED : allreduce_pkg::STRANGER;
        counted <= 1'b1;
        state   <= IDLE;
      end else if (sender_ready) begin  // what may leave has room
        contributes <= 1'b1;
        state       <= SLOT;
      end
      SLOT:
      if (decided) begin
        outcome <= verdict;
        counted <= 1'b1;
        sets    <= set;
        adds    <= add;
        leaves  <= harvests;
        state   <= set || add || harvests ? LANES : IDLE;
      end
      LANES:
      if (in_valid) begin
        beat <= beat + 1'b1;
        if (beat == 15) state <= IDLE;
      end
      default: if (begins) state <= FIND;
    endcase
    if (rst) state <= IDLE;
  end
endmodule
