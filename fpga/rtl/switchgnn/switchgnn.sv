// SPDX-License-Identifier: Apache-2.0
// Puts neighbour_sums and its registers between what a MAC receives and what it sends: takes the packets that are for the
// switch and leaves all other frames alone.
`include "axi.svh"
module switchgnn #(
    // Aggregators of 32 lanes, a power of two, 16 to 65536.
    parameter AGGREGATORS = 256,
    // Table entries for vertices and for their owners, likewise.
    parameter VERTICES    = 1024,
    // Table entries for contributions, likewise.
    parameter EDGES       = 1024
) (
    input  wire         clk,
    input  wire         rst,
    `AXIL_PORTS(s_axil),
    input  wire         write,           // an entry (offramp.switchgnn.card_tables)
    input  wire [ 15:0] write_at,
    input  wire         write_edge,      // a contribution; else a vertex
    input  wire [ 95:0] write_data,
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
  wire [127:0] frame_data;
  wire frame_last, frame_whole, frame_valid, frame_ready;
  switch_frames #(
      .PROTOCOL(switchgnn_pkg::IP_PROTOCOL),
      .HEADER_BYTES(switchgnn_pkg::HEADER_BYTES),
      .FRAME_BYTES(switchgnn_pkg::FRAME_BYTES)
  ) frames (
      .*,
      .out_data(frame_data),
      .out_last(frame_last),
      .out_whole(frame_whole),
      .out_valid(frame_valid),
      .out_ready(frame_ready)
  );

  wire clear, busy;
  wire [5:0] members;
  wire [15:0] round;
  wire [4:0] which;
  wire [31:0] count;
  neighbour_sums #(
      .AGGREGATORS(AGGREGATORS),
      .VERTICES(VERTICES),
      .EDGES(EDGES)
  ) engine (
      .*,
      .in_data(frame_data),
      .in_last(frame_last),
      .in_whole(frame_whole),
      .in_valid(frame_valid),
      .in_ready(frame_ready)
  );

  switchgnn_regs regs (
      .*,
      .hwif_out_clear_start(clear),
      .hwif_in_status_busy(busy),
      .hwif_in_aggregators_value(AGGREGATORS),
      .hwif_in_vertices_value(VERTICES),
      .hwif_in_edges_value(EDGES),
      .hwif_out_members_count(members),
      .hwif_in_round_value({16'b0, round}),
      .hwif_out_which_outcome(which),
      .hwif_in_count_value(count)
  );
endmodule
