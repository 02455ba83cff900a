// SPDX-License-Identifier: Apache-2.0
// Classifies passing frames: a whole frame for this card gets a kind with its last beat, a cycle later;
// all others get DROP and one event for the reason. Bytes behind a UDP datagram (padding, trailers) are cut off from the
// fourth beat on: the datagram's last beat waits until the frame ends.
module frame_check (
    input  wire         clk,
    input  wire         rst,
    input  wire [ 47:0] mac,        // as in a frame: first byte lowest
    input  wire [ 31:0] address,    // likewise
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  2:0] in_fault,
    input  wire         in_valid,
    output reg  [127:0] out_data,
    output reg  [  3:0] out_count,
    output reg          out_last,
    output reg          out_valid,
    output wire [  1:0] out_kind,   // with the last beat: 0 drop, 1 ARP, 2 echo, 3 message
    output reg  [ 15:0] out_events  // with the last beat: what is counted (udp_pkg)
);
  localparam [15:0] IPV4 = 16'h0008, ARP = 16'h0608;  // in the order of bytes here
  localparam [1:0] DROP = 0, ARP_KIND = 1, ECHO = 2, MESSAGE = 3;

  reg [2:0] beat;  // of the frame, 4 for all from the fifth on
  reg [2:0] fault;
  reg to_me, to_all, ip, arp, plain, whole_arp, fragment, echo, udp, for_me, my_port, udp_length;
  reg [16:0] left;  // bytes of the IP packet from this beat on
  reg [10:0] bytes;  // of the frame
  reg [15:0] total;
  reg [21:0] ip_sum;
  reg [26:0] sum;  // of ICMP or UDP
  reg no_sum;
  reg held;  // the output is the datagram's last beat

  // Bytes behind the packet count as zeros: short frames are padded.
  wire [15:0] here = ~(16'hFFFE << in_count);
  wire [127:0] masked;
  genvar g;
  generate
    for (g = 0; g < 16; g = g + 1) begin : masks
      assign masked[g*8+:8] = left > g && here[g] ? in_data[g*8+:8] : 8'h00;
    end
  endgenerate
  wire [127:0] counted = beat <= 1 ? in_data : masked;
  wire ends = ip && udp && beat >= 3 && left <= 16;  // the datagram has no beat behind this one
  wire cut = ends && left != 0 && !left[4] && left[3:0] <= in_count;
  wire [15:0] length = {in_data[7:0], in_data[15:8]};  // of the IP packet, in beat 1
  wire [15:0] datagram = {in_data[55:48], in_data[63:56]};  // of UDP, in beat 2

  wire [21:0] ip_words, words;
  sum_words #(
      .WORDS(8)
  ) of_ip (
      .data(beat == 0 ? {in_data[127:112], 112'b0} : beat == 1 ? in_data : {112'b0, in_data[15:0]}),
      .sum (ip_words)
  );
  sum_words #(
      .WORDS(8)
  ) of_payload (
      .data(beat == 1 ? {in_data[127:80], 80'b0} : beat == 2 && !udp ? {masked[127:16], 16'b0} : counted),
      .sum (words)
  );

  always @(posedge clk) begin
    out_valid <= in_valid && !rst && (in_last || !(held || ends));
    if (!held) out_data <= in_data;
    if (!held) out_count <= cut ? left[3:0] - 1'b1 : in_count;
    out_last <= in_last;
    if (in_valid) begin
      held  <= !in_last && (held || ends);
      fault <= in_fault;
      bytes <= (beat == 0 ? 11'd0 : bytes) + {7'b0, in_count} + 11'd1;
      if (beat != 1) left <= left < 16 ? 17'd0 : left - 17'd16;
      if (beat < 3) ip_sum <= (beat == 0 ? 22'b0 : ip_sum) + ip_words;
      if (beat >= 2) sum <= sum + {5'b0, words};
      case (beat)
        0: begin
          to_me  <= in_data[47:0] == mac;
          to_all <= &in_data[47:0];
          ip     <= in_data[111:96] == IPV4;
          arp    <= in_data[111:96] == ARP;
          plain  <= in_data[119:112] == 8'h45;  // version 4 without options
          whole_arp <= in_data[127:112] == 16'h0100;
        end
        1: begin
          total     <= length;
          left      <= length < 18 ? 17'd0 : length - 16'd18;
          whole_arp <= whole_arp && in_data[47:0] == 48'h0100_0406_0008;
          fragment  <= |{in_data[37:32], in_data[47:40]};  // an offset, or more to come
          echo      <= in_data[63:56] == 8'd1;
          udp       <= in_data[63:56] == 8'd17;
          for_me    <= in_data[127:112] == address[15:0];
          // The sum of UDP has the addresses, protocol and length before it; ICMP's has not.
          sum       <= in_data[63:56] == 8'd17 ? {5'b0, words} + 27'd17 : 27'd0;
        end
        2: begin
          for_me     <= arp ? in_data[79:48] == address : for_me && in_data[15:0] == address[31:16];
          my_port    <= {in_data[39:32], in_data[47:40]} == udp_pkg::PORT;
          udp_length <= datagram == total - 16'd20 && datagram >= 8;
          no_sum     <= in_data[79:64] == 0;
          echo       <= echo && in_data[31:16] == 16'h0008;
          if (udp) sum <= sum + {5'b0, words} + {11'b0, datagram};
        end
        default: ;
      endcase
      beat <= in_last ? 3'd0 : beat == 4 ? 3'd4 : beat + 1'b1;
    end
    if (rst) {held, beat} <= 0;
  end

  function [15:0] folded(input [26:0] value);
    reg [16:0] once;
    begin
      once   = {1'b0, value[15:0]} + {6'b0, value[26:16]};
      folded = once[15:0] + {15'b0, once[16]};
    end
  endfunction

  wire short = bytes < 11'd60;  // a MAC that lets runts pass
  wire whole = {1'b0, total} + 17'd14 <= {6'b0, bytes};
  wire good_ip = plain && folded({5'b0, ip_sum}) == 16'hFFFF && total >= 28 && whole;
  wire good_sum = folded(sum) == 16'hFFFF && !(udp && no_sum);

  assign out_kind = out_events[udp_pkg::ACCEPTED] ? (arp ? ARP_KIND : udp ? MESSAGE : ECHO) : DROP;

  always @* begin
    out_events = 16'b0;
    if (out_valid && out_last)
      case (fault)
        ethernet_pkg::CORRUPT: out_events[udp_pkg::CORRUPT] = 1'b1;
        ethernet_pkg::RUNT: out_events[udp_pkg::RUNT] = 1'b1;
        ethernet_pkg::JUMBO: out_events[udp_pkg::JUMBO] = 1'b1;
        ethernet_pkg::OVERFLOW: out_events[udp_pkg::OVERFLOW] = 1'b1;
        default:
        if (short) out_events[udp_pkg::RUNT] = 1'b1;
        else if (!to_me && !(to_all && arp)) out_events[udp_pkg::MISADDRESSED] = 1'b1;
        else if (arp) begin
          if (!whole_arp) out_events[udp_pkg::UNKNOWN] = 1'b1;
          else if (!for_me) out_events[udp_pkg::MISADDRESSED] = 1'b1;
          else out_events[udp_pkg::ACCEPTED] = 1'b1;
        end else if (!ip) out_events[udp_pkg::UNKNOWN] = 1'b1;
        else if (!good_ip) out_events[udp_pkg::BAD_HEADER] = 1'b1;
        else if (!for_me) out_events[udp_pkg::MISADDRESSED] = 1'b1;
        else if (fragment) out_events[udp_pkg::FRAGMENT] = 1'b1;
        else if (!udp && !echo) out_events[udp_pkg::UNKNOWN] = 1'b1;
        else if (udp && !udp_length) out_events[udp_pkg::BAD_HEADER] = 1'b1;
        else if (!good_sum) out_events[udp_pkg::BAD_CHECKSUM] = 1'b1;
        else if (udp && !my_port) out_events[udp_pkg::MISADDRESSED] = 1'b1;
        else out_events[udp_pkg::ACCEPTED] = 1'b1;
      endcase
  end
endmodule
