// SPDX-License-Identifier: Apache-2.0
// The engines on a chip (chip_engines) behind a MAC: ARP, echo, and the request layer over UDP. The card's MAC address is
// 02:4F and its IP address. With PAGES it is also the switch of all-reduces between the hosts of its network (aggregate),
// with AGGREGATORS that of SwitchGNN (neighbour_sums), by the switch's MAC address.
`include "axi.svh"
`include "udp.svh"
module udp_engines #(
    `UDP_PARAMETERS(25_000_000),
    // Beats of frames that wait for the server, a power of two, 128 or more: 1024 where a window of the longest requests
    // may come faster than the server takes them.
    parameter STORE = 512
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] rx_data,   // frames without check sequence, first byte lowest; always taken
    input  wire [  3:0] rx_count,  // bytes of the beat - 1, 15 but in the last
    input  wire         rx_last,
    input  wire [  2:0] rx_fault,  // of the frame, with its last beat: ethernet_pkg
    input  wire         rx_valid,
    input  wire [  7:0] rx_lost,   // frames that the MAC had no room for, which leave no beat
    output wire [127:0] tx_data,
    output wire [  3:0] tx_count,
    output wire         tx_last,
    output wire         tx_valid,
    input  wire         tx_ready
);
  localparam [31:0] IP = {ADDRESS[7:0], ADDRESS[15:8], ADDRESS[23:16], ADDRESS[31:24]};
  localparam [47:0] MAC = {IP, 16'h4F02};
  localparam COUNTERS = udp_pkg::COUNTERS, OVERFLOW = {1'b0, udp_pkg::OVERFLOW};
  localparam TARGETS = EBS_LINES == 0 ? 3 : 4;  // with the control port
  localparam MOST_ANSWER = udp_pkg::MOST_PACKET / 16;
  localparam CHECKED = 5;  // cycles by which frame_check judges a frame later than the switches do

  wire [127:0] judged_data;
  wire [3:0] judged_count;
  wire judged_last, judged_valid, overflow;
  wire [1:0] judged_kind;
  wire [15:0] check_events, server_events;
  frame_check check (
      .*,
      .mac(MAC),
      .address(IP),
      .in_data(rx_data),
      .in_count(rx_count),
      .in_last(rx_last),
      .in_fault(rx_fault),
      .in_valid(rx_valid),
      .out_data(judged_data),
      .out_count(judged_count),
      .out_last(judged_last),
      .out_valid(judged_valid),
      .out_kind(judged_kind),
      .out_events(check_events)
  );

  wire [127:0] frame_data;
  wire [3:0] frame_count;
  wire frame_last, frame_valid, frame_ready;
  wire [1:0] frame_kind;
  frame_store #(
      .DEPTH(STORE)
  ) store (
      .*,
      .in_data(judged_data),
      .in_count(judged_count),
      .in_last(judged_last),
      .in_kind(judged_kind),
      .in_valid(judged_valid),
      .out_data(frame_data),
      .out_count(frame_count),
      .out_last(frame_last),
      .out_kind(frame_kind),
      .out_valid(frame_valid),
      .out_ready(frame_ready)
  );

  wire [127:0] echo_data, reply_data;
  wire [3:0] echo_count;
  wire echo_last, echo_valid, echo_ready, reply_last, frame_out_valid, reply_out_ready;
  wire [95:0] reply_peer, peer;
  wire [7:0] reply_kind, reply_outcome;
  wire [31:0] reply_session, reply_sequence, session, window_sequence;
  wire reply_valid, reply_ready, window_forget, window_idle, window_fresh, window_known, window_accept, window_again;
  wire [2:0] in_target, out_source;
  wire [127:0] in_data, out_data;
  wire [15:0] in_keep;
  wire in_last, in_valid, in_ready, out_last, out_valid;
  udp_server #(
      .PATIENCE(PATIENCE),
      .TARGETS(TARGETS),
      .QUANTPACK(QUANTPACK_DEPTH != 0)
  ) server (
      .*,
      .mac(MAC),
      .address(IP),
      .in_data(frame_data),
      .in_count(frame_count),
      .in_last(frame_last),
      .in_kind(frame_kind),
      .in_valid(frame_valid),
      .in_ready(frame_ready),
      .out_target(in_target),
      .out_data(in_data),
      .out_keep(in_keep),
      .out_last(in_last),
      .out_valid(in_valid),
      .out_ready(in_ready),
      .events(server_events)
  );

  wire send_valid, send_ready, sent;
  wire [7:0] send_place, read_place;
  wire [31:0] send_sequence, send_cycles;
  wire [6:0] send_beats, read_beat;
  wire [15:0] send_sum;
  wire [127:0] read_data;
  request_window #(
      .PLACES (PLACES),
      .SOURCES(QUANTPACK_DEPTH != 0 ? 6 : TARGETS)
  ) window (
      .*,
      .forget(window_forget),
      .idle(window_idle),
      .sequence_in(window_sequence),
      .fresh(window_fresh),
      .known(window_known),
      .accept(window_accept),
      .again(window_again),
      .target(in_target),
      .answer_source(out_source),
      .answer_data(out_data),
      .answer_last(out_last),
      .answer_valid(out_valid)
  );

  reply_sender #(
      .PLACES(PLACES),
      .LINES (LINES),
      .CLOCK (CLOCK)
  ) sender (
      .*,
      .mac(MAC),
      .address(IP),
      .out_data(reply_data),
      .out_last(reply_last),
      .out_valid(frame_out_valid),
      .out_ready(reply_out_ready)
  );

  // The switches: 0 of all-reduces, 1 of SwitchGNN.
  wire [255:0] sum_data;
  wire [7:0] sum_count;
  wire [1:0] sum_last, sum_valid, for_switch, sum_overflow;
  wire [63:0] axil_rdata;
  wire [1:0] axil_awready, axil_wready, axil_bvalid, axil_arready, axil_rvalid;
  /* verilator lint_off UNUSEDSIGNAL */  // nobody listens without switches
  wire [7:0] axil_addr;
  wire [31:0] axil_wdata;
  wire [1:0] axil_awvalid, axil_wvalid, axil_arvalid, sum_ready;
  wire write_entry, entry_table;
  wire [15:0] entry_at;
  wire [95:0] entry_data;
  /* verilator lint_on UNUSEDSIGNAL */
  generate
    if (PAGES == 0) begin : no_sums
      assign {for_switch[0], sum_overflow[0], sum_valid[0], sum_last[0], sum_count[3:0], sum_data[127:0]} = 0;
      `AXIL_ABSENT(0)
    end else begin : sums
      allreduce #(
          .PAGES(PAGES)
      ) switch (
          .*,
          `AXIL_JOIN(0),
          .in_data(rx_data),
          .in_count(rx_count),
          .in_last(rx_last),
          .in_fault(rx_fault),
          .in_valid(rx_valid),
          .mine(for_switch[0]),
          .overflow(sum_overflow[0]),
          .out_data(sum_data[127:0]),
          .out_count(sum_count[3:0]),
          .out_last(sum_last[0]),
          .out_valid(sum_valid[0]),
          .out_ready(sum_ready[0])
      );
    end
    if (AGGREGATORS == 0) begin : no_neighbours
      assign {for_switch[1], sum_overflow[1], sum_valid[1], sum_last[1], sum_count[7:4], sum_data[255:128]} = 0;
      `AXIL_ABSENT(1)
    end else begin : neighbours
      switchgnn #(
          .AGGREGATORS(AGGREGATORS),
          .VERTICES(VERTICES),
          .EDGES(EDGES)
      ) switch (
          .*,
          `AXIL_JOIN(1),
          .write(write_entry),
          .write_at(entry_at),
          .write_edge(entry_table),
          .write_data(entry_data),
          .in_data(rx_data),
          .in_count(rx_count),
          .in_last(rx_last),
          .in_fault(rx_fault),
          .in_valid(rx_valid),
          .mine(for_switch[1]),
          .overflow(sum_overflow[1]),
          .out_data(sum_data[255:128]),
          .out_count(sum_count[7:4]),
          .out_last(sum_last[1]),
          .out_valid(sum_valid[1]),
          .out_ready(sum_ready[1])
      );
    end
  endgenerate

  // Echoes and ARP's answers, the request layer's frames, or sums.
  wire chosen_last, chosen_valid, chosen_ready;
  wire [3:0] turn;
  packet_turns #(
      .COUNT(4)
  ) turns (
      .*,
      .valid({sum_valid, frame_out_valid, echo_valid}),
      .ends(chosen_valid && chosen_ready && chosen_last)
  );
  wire [127:0] chosen_data = turn[3] ? sum_data[255:128] : turn[2] ? sum_data[127:0] : turn[1] ? reply_data : echo_data;
  wire [3:0] chosen_count = turn[3] ? sum_count[7:4] : turn[2] ? sum_count[3:0] : turn[1] ? 4'd15 : echo_count;
  assign chosen_last  = |(turn & {sum_last, reply_last, echo_last});
  assign chosen_valid = |(turn & {sum_valid, frame_out_valid, echo_valid});
  assign {sum_ready, reply_out_ready, echo_ready} = turn & {4{chosen_ready}};
  skid_buffer #(
      .WIDTH(133)
  ) leaving (
      .*,
      .in_data({chosen_last, chosen_count, chosen_data}),
      .in_valid(chosen_valid),
      .in_ready(chosen_ready),
      .out_data({tx_last, tx_count, tx_data}),
      .out_valid(tx_valid),
      .out_ready(tx_ready)
  );

  reg [COUNTERS*32-1:0] counters;
  // What is for a switch is none of the card's other frames, and misaddressed to it.
  reg [CHECKED-1:0] switched, refused;
  wire at_switch = switched[CHECKED-1];
  wire no_room = refused[CHECKED-1];
  wire [15:0] judged_events = at_switch ? 16'h0001 << udp_pkg::ACCEPTED : check_events;
  wire [15:0] kept_events = overflow || no_room ? 16'h0001 << OVERFLOW : judged_events;
  wire [15:0] sent_events = {15'b0, tx_valid && tx_ready && tx_last} << udp_pkg::REPLIED;
  reg [15:0] events;
  // With what the MAC had no room for; a cycle later than the others.
  reg [8:0] dropped;
  integer i;
  always @(posedge clk) begin
    switched <= rst ? {CHECKED{1'b0}} : {switched[CHECKED-2:0], |for_switch};
    refused  <= rst ? {CHECKED{1'b0}} : {refused[CHECKED-2:0], |sum_overflow};
    events  <= rst ? 16'b0 : kept_events | server_events | sent_events;
    dropped <= rst ? 9'b0 : {1'b0, rx_lost} + {8'b0, events[OVERFLOW[3:0]]};
    for (i = 0; i < COUNTERS; i = i + 1)
      counters[i*32+:32] <= rst ? 32'b0 : counters[i*32+:32] + (i[4:0] == OVERFLOW ? {23'b0, dropped} : {31'b0, events[i]});
  end

  chip_engines #(
      .LINES(LINES),
      .FLIGHT(16),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .DEPTH(DEPTH),
      .COUNTERS(COUNTERS),
      .ENTRIES(AGGREGATORS == 0 ? 0 : VERTICES > EDGES ? VERTICES : EDGES),
      .EBS_LINES(EBS_LINES),
      .QUANTPACK_DEPTH(QUANTPACK_DEPTH),
      .MOST_ANSWER(MOST_ANSWER)
  ) engines (
      .*,
      .out_ready(1'b1),
      .m_axil_addr(axil_addr),
      .m_axil_awvalid(axil_awvalid),
      .m_axil_awready(axil_awready),
      .m_axil_wdata(axil_wdata),
      .m_axil_wvalid(axil_wvalid),
      .m_axil_wready(axil_wready),
      .m_axil_bvalid(axil_bvalid),
      .m_axil_arvalid(axil_arvalid),
      .m_axil_arready(axil_arready),
      .m_axil_rdata(axil_rdata),
      .m_axil_rvalid(axil_rvalid)
  );
endmodule
