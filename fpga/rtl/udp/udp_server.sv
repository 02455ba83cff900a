// SPDX-License-Identifier: Apache-2.0
// Serves the frames for this card one by one: answers ARP and echo requests, holds the session, and lets the
// session's requests through to the engines, each once.
module udp_server #(
    // Cycles without a word after which another host may have the card.
    parameter [31:0] PATIENCE = 125_000_000,
    // Kinds of packets that there are engines for, 3 or 4; and whether those of quantpack's two ways, too.
    parameter TARGETS   = 3,
    parameter QUANTPACK = 0
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [ 47:0] mac,              // first byte lowest, as all of addresses and the session here
    input  wire [ 31:0] address,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  1:0] in_kind,
    input  wire         in_valid,
    output wire         in_ready,
    output wire [127:0] echo_data,        // a frame
    output wire [  3:0] echo_count,
    output wire         echo_last,
    output wire         echo_valid,
    input  wire         echo_ready,
    output wire [ 95:0] reply_peer,       // port, IP address, MAC address
    output wire [  7:0] reply_kind,
    output reg  [  7:0] reply_outcome,
    output wire [ 31:0] reply_session,
    output wire [ 31:0] reply_sequence,
    output wire         reply_valid,
    input  wire         reply_ready,
    output reg  [ 95:0] peer,             // of the session
    output reg  [ 31:0] session,
    output wire         window_forget,
    input  wire         window_idle,
    output wire [ 31:0] window_sequence,
    input  wire         window_fresh,
    input  wire         window_known,
    output wire         window_accept,
    output wire         window_again,
    output wire [  2:0] out_target,       // an engine's packet
    output wire [127:0] out_data,
    output wire [ 15:0] out_keep,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready,
    output reg  [ 15:0] events            // udp_pkg
);
  if (PATIENCE < 1) begin : wrong_PATIENCE udp_server_needs_PATIENCE_of_1_or_more refused (); end
  if (TARGETS != 3 && TARGETS != 4) begin : wrong_TARGETS udp_server_needs_TARGETS_of_3_or_4 refused (); end
  if (QUANTPACK != 0 && QUANTPACK != 1) begin : wrong_QUANTPACK udp_server_needs_QUANTPACK_of_0_or_1 refused (); end

  localparam [1:0] ARP = 1, ECHO = 2;
  localparam [2:0] HEAD = 0, LOOK = 1, JUDGE = 2, EMIT = 3, COPY = 4, REPLY = 5, FORWARD = 6, DRAIN = 7;

  reg [2:0] state;
  reg [511:0] head;  // the first four beats
  reg [1:0] place;
  reg [1:0] kind;
  reg ended;  // the frame has no more beats
  reg [3:0] count;  // of the fourth beat
  reg open;
  reg [31:0] silence;
  wire patient = silence != PATIENCE;
  reg [32:0] closed;  // the session that was closed last, below a one: an OPEN that its CLOSE overtook opens nothing

  wire [95:0] sender = {head[34*8+:16], head[26*8+:32], head[6*8+:48]};
  wire [15:0] datagram = {head[38*8+:8], head[39*8+:8]};
  wire [7:0] what = head[44*8+:8];
  wire [7:0] target = head[45*8+:8];
  wire [31:0] number = head[46*8+:32];
  /* verilator lint_off UNUSEDSIGNAL */ wire [31:0] sequence_raw = head[50*8+:32]; /* verilator lint_on UNUSEDSIGNAL */  // unused with some parameters
  wire quantises = target == {5'b0, udp_pkg::QUANTISE} || target == {5'b0, udp_pkg::DEQUANTISE};
  wire there = target < TARGETS || QUANTPACK != 0 && quantises;
  wire bare = datagram == 30;
  wire packet = datagram >= 30 + 16 && datagram <= 30 + udp_pkg::MOST_PACKET;
  // What the headers say, a cycle after they are here (LOOK), when the window knows its part as well.
  reg proper, mine, over;
  always @(posedge clk) begin
    proper <= head[42*8+:16] == {udp_pkg::MAGIC[7:0], udp_pkg::MAGIC[15:8]} && (what == udp_pkg::REQUEST ?
        packet && there : bare && (what == udp_pkg::OPEN || what == udp_pkg::CLOSE));
    mine <= open && number == session && sender[95:48] == peer[95:48];
    over <= closed == {1'b1, number};
  end

  wire judge = state == JUDGE && kind != ARP && kind != ECHO && proper;
  wire opens = judge && what == udp_pkg::OPEN;
  wire taken_over = opens && !mine && !over && !(open && patient) && window_idle;
  wire asks = judge && what == udp_pkg::REQUEST && mine;
  assign window_forget   = taken_over;
  assign window_sequence = {head[50*8+:8], head[51*8+:8], head[52*8+:8], head[53*8+:8]};
  assign window_accept   = asks && window_fresh;
  assign window_again    = asks && window_known;

  assign reply_peer     = sender;
  assign reply_kind     = what;
  assign reply_session  = number;
  assign reply_sequence = window_sequence;
  assign reply_valid    = state == REPLY;

  assign out_target = target[2:0];
  assign out_data   = in_data;
  assign out_keep   = ~(16'hFFFE << in_count);
  assign out_last   = in_last;
  wire forwards = state == FORWARD || window_accept;
  assign out_valid  = forwards && in_valid;

  assign echo_data  = state == EMIT ? head[127:0] : in_data;
  assign echo_count = state != EMIT ? in_count : !echo_last ? 4'd15 : kind == ARP ? 4'd9 : count;
  assign echo_last  = state == EMIT ? (kind == ARP ? place == 2 : place == 3 && ended) : in_last;
  assign echo_valid = state == EMIT || (state == COPY && in_valid);

  assign in_ready = state == HEAD || state == DRAIN || (state == COPY && echo_ready) || (forwards && out_ready);

  // An echo request's type 8 becomes 0: the check sum's complement loses 0800 (RFC 1624).
  wire [16:0] echo_more = {1'b0, head[36*8+:8], head[37*8+:8]} + 17'h00800;
  wire [15:0] echo_sum = echo_more[15:0] + {15'b0, echo_more[16]};
  wire [511:0] arp_reply = {
    176'b0, head[28*8+:32], head[22*8+:48], address, mac, 16'h0200, head[14*8+:48], 16'h0608, mac, head[6*8+:48]
  };
  wire [511:0] echo_reply = {
    head[38*8+:208], echo_sum[7:0], echo_sum[15:8], 16'h0000, head[26*8+:32], address, head[12*8+:112], mac,
    head[6*8+:48]
  };

  always @* begin
    events = 16'b0;
    if (state == JUDGE && kind != ARP && kind != ECHO) begin
      if (!proper) events[udp_pkg::MALFORMED] = 1'b1;
      else if (what != udp_pkg::OPEN && !mine) events[udp_pkg::STRANGER] = 1'b1;
      else if (opens && !mine && !taken_over) events[udp_pkg::STRANGER] = 1'b1;
      else if (asks) begin
        if (window_accept) events[udp_pkg::EXECUTED] = 1'b1;
        else if (window_known) events[udp_pkg::DUPLICATE] = 1'b1;
        else events[udp_pkg::STALE] = 1'b1;
      end
    end
  end

  wire [2:0] rest = ended ? HEAD : DRAIN;
  always @(posedge clk) begin
    if (patient) silence <= silence + 1'b1;
    if (judge && (mine || taken_over)) silence <= 0;
    if (judge && opens && (mine || taken_over)) begin
      peer    <= sender;
      session <= number;
      open    <= 1'b1;
    end
    if (judge && what == udp_pkg::CLOSE && mine) open <= 1'b0;
    if (judge && what == udp_pkg::CLOSE) closed <= {1'b1, number};

    case (state)
      HEAD:
      if (in_valid) begin
        head  <= {in_data, head[511:128]};
        place <= place + 1'b1;
        kind  <= in_kind;
        ended <= in_last;
        count <= in_count;
        if (place == 3) state <= LOOK;
        else if (in_last) place <= 0;  // no frame is that short
      end
      LOOK: state <= JUDGE;
      JUDGE: begin
        state <= rest;
        if (kind == ARP || kind == ECHO) begin
          head  <= kind == ARP ? arp_reply : echo_reply;
          state <= EMIT;
        end else if (proper) begin
          if (opens) begin
            reply_outcome <= mine || taken_over ? udp_pkg::DONE : over ? udp_pkg::NO_SESSION : udp_pkg::BUSY;
            if (mine || taken_over || over || (open && patient)) state <= REPLY;
          end else if (!mine || what == udp_pkg::CLOSE) begin
            reply_outcome <= mine ? udp_pkg::DONE : udp_pkg::NO_SESSION;
            state         <= REPLY;
          end else if (window_accept) state <= in_valid && out_ready && in_last ? HEAD : FORWARD;
        end
      end
      EMIT:
      if (echo_ready) begin
        head  <= head >> 128;
        place <= place + 1'b1;
        if (echo_last) begin
          place <= 0;
          state <= rest;
        end else if (place == 3) state <= COPY;
      end
      COPY: if (in_valid && echo_ready && in_last) state <= HEAD;
      REPLY: if (reply_ready) state <= rest;
      FORWARD: if (in_valid && out_ready && in_last) state <= HEAD;
      default: if (in_valid && in_last) state <= HEAD;
    endcase
    if (rst) begin
      state   <= HEAD;
      place   <= 0;
      open    <= 1'b0;
      closed  <= 0;
      silence <= 0;
    end
  end
endmodule
