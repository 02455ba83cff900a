// SPDX-License-Identifier: Apache-2.0
// Puts aggregate and its registers between what a MAC receives and what it sends: takes the packets that are for the switch
// and leaves all other frames alone.
`include "axi.svh"
module allreduce #(
    // Pages of 256 slots, a power of two, 1 to 256.
    parameter PAGES = 1
) (
    input  wire         clk,
    input  wire         rst,
    `AXIL_PORTS(s_axil),
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  2:0] in_fault,
    input  wire         in_valid,
    output wire         mine,            // with a last beat, a cycle after it came: the frame is the switch's
    output wire         overflow,        // and had no room
    output wire [127:0] out_data,
    output wire [  3:0] out_count,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready
);
  localparam JOBS = 4;

  wire [127:0] frame_data;
  wire frame_last, frame_whole, frame_valid, frame_ready;
  switch_frames #(
      .PROTOCOL(allreduce_pkg::IP_PROTOCOL),
      .HEADER_BYTES(allreduce_pkg::HEADER_BYTES),
      .FRAME_BYTES(allreduce_pkg::FRAME_BYTES)
  ) frames (
      .*,
      .out_data(frame_data),
      .out_last(frame_last),
      .out_whole(frame_whole),
      .out_valid(frame_valid),
      .out_ready(frame_ready)
  );

  wire [JOBS*32-1:0] number, ranks;
  wire [JOBS*8-1:0] first, pages;
  wire [7:0] clear_page;
  wire clear, busy, counted;
  wire [3:0] outcome;
  aggregate #(
      .PAGES(PAGES),
      .JOBS (JOBS)
  ) engine (
      .*,
      .job_number(number),
      .job_ranks(ranks),
      .job_first(first),
      .job_pages(pages),
      .in_data(frame_data),
      .in_last(frame_last),
      .in_whole(frame_whole),
      .in_valid(frame_valid),
      .in_ready(frame_ready)
  );

  reg [10*32-1:0] counts;  // by outcome, up to PULLED
  integer i;
  always @(posedge clk)
    for (i = 0; i < 10; i = i + 1)
    counts[i*32+:32] <= rst ? 32'b0 : counts[i*32+:32] + {31'b0, counted && outcome == i[3:0]};

  allreduce_regs regs (
      .*,
      .hwif_out_clear_page(clear_page),
      .hwif_out_clear_start(clear),
      .hwif_in_status_busy(busy),
      .hwif_in_size_value(PAGES),
      .hwif_out_number0_value(number[0*32+:32]),
      .hwif_out_ranks0_value(ranks[0*32+:32]),
      .hwif_out_pages0_first(first[0*8+:8]),
      .hwif_out_pages0_count(pages[0*8+:8]),
      .hwif_out_number1_value(number[1*32+:32]),
      .hwif_out_ranks1_value(ranks[1*32+:32]),
      .hwif_out_pages1_first(first[1*8+:8]),
      .hwif_out_pages1_count(pages[1*8+:8]),
      .hwif_out_number2_value(number[2*32+:32]),
      .hwif_out_ranks2_value(ranks[2*32+:32]),
      .hwif_out_pages2_first(first[2*8+:8]),
      .hwif_out_pages2_count(pages[2*8+:8]),
      .hwif_out_number3_value(number[3*32+:32]),
      .hwif_out_ranks3_value(ranks[3*32+:32]),
      .hwif_out_pages3_first(first[3*8+:8]),
      .hwif_out_pages3_count(pages[3*8+:8]),
      .hwif_in_malformed_value(counts[allreduce_pkg::MALFORMED*32+:32]),
      .hwif_in_stranger_value(counts[allreduce_pkg::STRANGER*32+:32]),
      .hwif_in_stale_value(counts[allreduce_pkg::STALE*32+:32]),
      .hwif_in_opened_value(counts[allreduce_pkg::OPENED*32+:32]),
      .hwif_in_added_value(counts[allreduce_pkg::ADDED*32+:32]),
      .hwif_in_completed_value(counts[allreduce_pkg::COMPLETED*32+:32]),
      .hwif_in_duplicate_value(counts[allreduce_pkg::DUPLICATE*32+:32]),
      .hwif_in_repeated_value(counts[allreduce_pkg::REPEATED*32+:32]),
      .hwif_in_pulled_value(counts[allreduce_pkg::PULLED*32+:32])
  );
endmodule
