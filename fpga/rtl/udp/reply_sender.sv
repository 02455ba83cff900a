// SPDX-License-Identifier: Apache-2.0
// Frames of the request layer: to any sender, without an answer, or to the session's host with what its request's
// engine answered. Ethernet, IPv4, UDP and the layer's header are four beats together.
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
    input  wire [ 31:0] send_sequence,
    input  wire [  6:0] send_beats,
    input  wire [ 15:0] send_sum,
    input  wire [ 31:0] send_cycles,
    output wire [  6:0] send_beat,
    input  wire [127:0] send_data,
    output wire         sent,
    output wire [127:0] out_data,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready
);
  if (PLACES < 1 || PLACES > 255) begin : wrong_PLACES reply_sender_needs_PLACES_from_1_to_255 refused (); end

  localparam [2:0] IDLE = 0, SUM = 1, HEAD = 2, FETCH = 3, BODY = 4;
  localparam [7:0] PLACES_BYTE = PLACES;

  function [15:0] swap(input [15:0] word);
    swap = {word[7:0], word[15:8]};
  endfunction
  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction
  function [15:0] fold(input [23:0] value);
    reg [16:0] once;
    begin
      once = {1'b0, value[15:0]} + {9'b0, value[23:16]};
      fold = once[15:0] + {15'b0, once[16]};
    end
  endfunction

  reg [2:0] state;
  reg body;  // there is an answer
  reg [95:0] to;
  reg [7:0] kind, outcome;
  reg [31:0] number, sequence_out, cycles, lines;
  reg [6:0] beats, beat;
  reg [15:0] sum;
  reg [511:0] head;
  reg [1:0] place;

  assign reply_ready = state == IDLE;
  wire [15:0] datagram = 16'd30 + {5'b0, beats, 4'b0};
  wire [15:0] total = datagram + 16'd20;
  wire [175:0] message = {
    swap_word(lines), swap_word(cycles), PLACES_BYTE, outcome, swap_word(sequence_out), number, 8'h00, kind,
    swap(udp_pkg::MAGIC)
  };
  wire [63:0] udp_bare = {16'h0000, swap(datagram), to[95:80], swap(udp_pkg::PORT)};
  wire [159:0] ip_bare = {to[79:48], address, 16'h0000, 8'd17, 8'd64, 16'h0040, 16'h0000, swap(total), 16'h0045};

  wire [21:0] ip_words, udp_words;
  sum_words #(
      .WORDS(10)
  ) of_ip (
      .data(ip_bare),
      .sum (ip_words)
  );
  sum_words #(
      .WORDS(19)
  ) of_udp (
      .data({message, udp_bare, ip_bare[159:96]}),
      .sum (udp_words)
  );
  wire [15:0] ip_sum = ~fold({2'b0, ip_words});
  wire [15:0] udp_sum = ~fold({2'b0, udp_words} + 24'd17 + {8'b0, datagram} + {8'b0, sum});
  wire [15:0] udp_sent = udp_sum == 0 ? 16'hFFFF : udp_sum;

  assign out_valid = state == HEAD || state == BODY;
  assign out_data  = state == HEAD ? head[127:0] : send_data;
  assign out_last  = state == HEAD ? place == 3 && !body : beat == beats - 1'b1;
  assign send_beat = beat;
  assign sent      = body && out_valid && out_ready && out_last;

  always @(posedge clk) begin
    case (state)
      IDLE: begin
        beat         <= 0;
        place        <= 0;
        body         <= !reply_valid;
        to           <= reply_valid ? reply_peer : peer;
        kind         <= reply_valid ? reply_kind : udp_pkg::REQUEST;
        outcome      <= reply_valid ? reply_outcome : udp_pkg::DONE;
        number       <= reply_valid ? reply_session : session;
        sequence_out <= reply_valid ? reply_sequence : send_sequence;
        cycles       <= reply_valid ? CLOCK : send_cycles;
        lines        <= reply_valid ? LINES : 0;
        beats        <= reply_valid ? 7'd0 : send_beats;
        sum          <= reply_valid ? 16'd0 : send_sum;
        if (reply_valid || send_valid) state <= SUM;
      end
      SUM: begin
        head <= {
          message, swap(udp_sent), udp_bare[47:0], ip_bare[159:96], swap(ip_sum), ip_bare[79:0], 16'h0008, mac, to[47:0]
        };
        state <= HEAD;
      end
      HEAD:
      if (out_ready) begin
        head  <= head >> 128;
        place <= place + 1'b1;
        if (place == 3) state <= body ? FETCH : IDLE;
      end
      FETCH: state <= BODY;
      default:
      if (out_ready) begin
        beat  <= beat + 1'b1;
        state <= out_last ? IDLE : FETCH;
      end
    endcase
    if (rst) state <= IDLE;
  end
endmodule
