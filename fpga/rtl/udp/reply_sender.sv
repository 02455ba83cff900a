// SPDX-License-Identifier: Apache-2.0
// Frames of the request layer: to any sender, without an answer, or to the session's host with what its request's
// engine answered. Ethernet, IPv4, UDP and the layer's header are four beats together. A frame's headers and sums are
// made, in five cycles, while the frame before it leaves, a beat in every cycle.
module reply_sender #(
    // Places of the window, 1 to 255.
    parameter PLACES = 8,
    // Lines of the table.
    parameter LINES  = 64,
    // Frequency of clk, Hz.
    parameter [31:0] CLOCK = 25_000_000
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [ 47:0] mac,             // first byte lowest, as all of addresses and the session here
    input  wire [ 31:0] address,
    input  wire [ 95:0] reply_peer,      // port, IP address, MAC address
    input  wire [  7:0] reply_kind,
    input  wire [  7:0] reply_outcome,
    input  wire [ 31:0] reply_session,
    input  wire [ 31:0] reply_sequence,
    input  wire         reply_valid,
    output wire         reply_ready,
    input  wire [ 95:0] peer,
    input  wire [ 31:0] session,
    input  wire         send_valid,      // request_window
    input  wire [  7:0] send_place,
    input  wire [ 31:0] send_sequence,
    input  wire [  6:0] send_beats,
    input  wire [ 15:0] send_sum,
    input  wire [ 31:0] send_cycles,
    output wire         send_ready,
    output reg  [  7:0] read_place,
    output wire [  6:0] read_beat,
    input  wire [127:0] read_data,
    output wire         sent,
    output wire [127:0] out_data,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready
);
  if (PLACES < 1 || PLACES > 255) begin : wrong_PLACES reply_sender_needs_PLACES_from_1_to_255 refused (); end

  localparam [2:0] IDLE = 0, ADD = 1, JOIN = 2, FOLD = 3, SEAL = 4;
  localparam [7:0] PLACES_BYTE = PLACES;

  function [15:0] swap(input [15:0] word);
    swap = {word[7:0], word[15:8]};
  endfunction
  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction
  function [16:0] once(input [23:0] value);
    once = {1'b0, value[15:0]} + {9'b0, value[23:16]};
  endfunction
  function [15:0] twice(input [16:0] value);
    twice = value[15:0] + {15'b0, value[16]};
  endfunction

  // The frame that is made.
  reg [2:0] state;
  reg has_answer;
  reg [95:0] to;
  reg [7:0] kind, outcome, place;
  reg [31:0] number, sequence_out, cycles, lines;
  reg [6:0] beats;
  reg [15:0] sum;

  assign reply_ready = state == IDLE;
  assign send_ready  = state == IDLE && !reply_valid;
  wire [15:0] datagram = 16'd30 + {5'b0, beats, 4'b0};
  wire [15:0] total = datagram + 16'd20;
  wire [175:0] message = {
    swap_word(lines), swap_word(cycles), PLACES_BYTE, outcome, swap_word(sequence_out), number, 8'h00, kind,
    swap(udp_pkg::MAGIC)
  };
  wire [63:0] udp_bare = {16'h0000, swap(datagram), to[95:80], swap(udp_pkg::PORT)};
  wire [63:0] addresses = {to[79:48], address};
  /* verilator lint_off UNUSEDSIGNAL */ wire [159:0] ip_bare = {addresses, 16'h0000, 8'd17, 8'd64, 16'h0040, 16'h0000, swap(total), 16'h0045}; /* verilator lint_on UNUSEDSIGNAL */  // without its check sum

  // Sums of four words each: the protocol, the message and UDP's header, and the addresses, which IP's header has, too.
  wire [5*64-1:0] summed = {addresses, 8'd17, 8'h00, message, udp_bare};
  wire [5*22-1:0] parts;
  genvar g;
  generate
    for (g = 0; g < 5; g = g + 1) begin : groups
      sum_words #(
          .WORDS(4)
      ) part (
          .data(summed[64*g+:64]),
          .sum (parts[22*g+:22])
      );
    end
  endgenerate
  /* verilator lint_off UNUSEDSIGNAL */ reg [5*22-1:0] part; /* verilator lint_on UNUSEDSIGNAL */  // four words need fewer bits
  reg [17:0] lengths;  // what else the sum of UDP has: its length a second time, and the answer
  reg [15:0] ip_length;
  reg [23:0] ip_words, udp_words;
  reg [16:0] ip_once, udp_once;

  // The frame that leaves.
  reg [511:0] head;
  reg leaving, in_head, body;
  reg [1:0] head_beat;
  reg [6:0] beat, last_beat;
  wire free = !leaving || (out_ready && out_last);
  wire takes = state == SEAL && free;

  assign out_valid = leaving;
  assign out_data  = in_head ? head[127:0] : read_data;
  assign out_last  = in_head ? head_beat == 3 && !body : beat == last_beat;
  assign read_beat = !in_head && out_ready ? beat + 1'b1 : beat;
  assign sent      = body && leaving && out_ready && out_last;

  always @(posedge clk) begin
    case (state)
      IDLE: begin
        has_answer   <= !reply_valid;
        to           <= reply_valid ? reply_peer : peer;
        kind         <= reply_valid ? reply_kind : udp_pkg::REQUEST;
        outcome      <= reply_valid ? reply_outcome : udp_pkg::DONE;
        number       <= reply_valid ? reply_session : session;
        sequence_out <= reply_valid ? reply_sequence : send_sequence;
        cycles       <= reply_valid ? CLOCK : send_cycles;
        lines        <= reply_valid ? LINES : 0;
        beats        <= reply_valid ? 7'd0 : send_beats;
        sum          <= reply_valid ? 16'd0 : send_sum;
        place        <= send_place;
        if (reply_valid || send_valid) state <= ADD;
      end
      ADD: state <= JOIN;
      JOIN: state <= FOLD;
      FOLD: state <= SEAL;
      default: if (free) state <= IDLE;
    endcase
    part      <= parts;
    lengths   <= {2'b0, datagram} + {2'b0, sum};
    ip_length <= total;
    ip_words  <= {5'b0, part[4*22+:19]} + {8'b0, ip_length} + 24'h00C511;  // the words that are always the same
    udp_words <= ({5'b0, part[0+:19]} + {5'b0, part[22+:19]}) + ({5'b0, part[44+:19]} + {5'b0, part[66+:19]})
        + ({5'b0, part[88+:19]} + {6'b0, lengths});
    ip_once   <= once(ip_words);
    udp_once  <= once(udp_words);

    if (takes) begin
      head <= {
        message,
        udp_once == 17'h0FFFF || udp_once == 17'h1FFFE ? 16'hFFFF : swap(~twice(udp_once)),  // no sum is sent as zero
        udp_bare[47:0], ip_bare[159:96], swap(~twice(ip_once)), ip_bare[79:0], 16'h0008, mac, to[47:0]
      };
      body       <= has_answer;
      last_beat  <= beats - 1'b1;
      read_place <= place;
    end else if (in_head && out_ready) head <= head >> 128;
    if (leaving && out_ready) begin
      head_beat <= head_beat + 1'b1;
      in_head   <= in_head && head_beat != 3;
      if (!in_head) beat <= beat + 1'b1;
    end
    if (free) {leaving, in_head, head_beat, beat} <= {takes, takes, 2'd0, 7'd0};
    if (rst) begin
      state   <= IDLE;
      leaving <= 1'b0;
    end
  end
endmodule
