// SPDX-License-Identifier: Apache-2.0
// Classifies passing frames: a whole frame for this card gets a kind with its last beat; all others get DROP and one
// event for the reason. Bytes behind a UDP datagram (padding, trailers) are cut off from the fourth beat on: the
// datagram's last beat waits until the frame ends.
//
// A beat leaves six cycles after it came. Its words are masked, added up and added to those before it, a cycle each; then
// the frame's sums are folded, compared and judged, again a cycle each.
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
    output wire [127:0] out_data,
    output wire [  3:0] out_count,
    output wire         out_last,
    output wire         out_valid,
    output reg  [  1:0] out_kind,   // with the last beat: 0 drop, 1 ARP, 2 echo, 3 message
    output reg  [ 15:0] out_events  // with the last beat: what is counted (udp_pkg)
);
  localparam [15:0] IPV4 = 16'h0008, ARP = 16'h0608;  // in the order of bytes here
  localparam [1:0] DROP = 0, ARP_KIND = 1, ECHO = 2, MESSAGE = 3;
  localparam BEHIND = 5;  // cycles from the register that takes a beat in to the output

  reg [2:0] beat;  // of the frame, 4 for all from the fifth on
  reg [2:0] fault;
  reg to_me, to_all, ip, arp, plain, whole_arp, fragment, echo, udp, for_me, my_port, udp_length;
  reg [16:0] left;  // bytes of the IP packet from this beat on
  reg [10:0] bytes;  // of the frame
  reg [15:0] total;
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
  wire ends = ip && udp && beat >= 3 && left <= 16;  // the datagram has no beat behind this one
  wire cut = ends && left != 0 && !left[4] && left[3:0] <= in_count;
  wire [15:0] length = {in_data[7:0], in_data[15:8]};  // of the IP packet, in beat 1
  wire [15:0] datagram = {in_data[55:48], in_data[63:56]};  // of UDP, in beat 2

  reg [127:0] taken;  // a beat
  reg [3:0] taken_count;
  reg taken_last, taken_valid;
  always @(posedge clk) begin
    taken_valid <= in_valid && !rst && (in_last || !(held || ends));
    if (!held) taken <= in_data;
    if (!held) taken_count <= cut ? left[3:0] - 1'b1 : in_count;
    taken_last <= in_last;
    if (in_valid) begin
      held  <= !in_last && (held || ends);
      fault <= in_fault;
      bytes <= (beat == 0 ? 11'd0 : bytes) + {7'b0, in_count} + 11'd1;
      if (beat != 1) left <= left < 16 ? 17'd0 : left - 17'd16;
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
        end
        2: begin
          for_me     <= arp ? in_data[79:48] == address : for_me && in_data[15:0] == address[31:16];
          my_port    <= {in_data[39:32], in_data[47:40]} == udp_pkg::PORT;
          udp_length <= datagram == total - 16'd20 && datagram >= 8;
          no_sum     <= in_data[79:64] == 0;
          echo       <= echo && in_data[31:16] == 16'h0008;
        end
        default: ;
      endcase
      beat <= in_last ? 3'd0 : beat == 4 ? 3'd4 : beat + 1'b1;
    end
    if (rst) {held, beat} <= 0;
  end

  // The words that a beat adds to the sum of its IP header and to that of ICMP or UDP.
  reg [127:0] ip_bytes, payload_bytes;
  reg [1:0] summed, joined;  // into either sum, lowest the header's; then the same a cycle later
  reg begins, began;  // a frame
  reg [15:0] extra, joining;  // to the payload's sum: its protocol or its length, where these are summed, too
  /* verilator lint_off UNUSEDSIGNAL */ wire [21:0] ip_words, payload_words; /* verilator lint_on UNUSEDSIGNAL */  // eight words need fewer bits
  reg [18:0] ip_more, payload_more;
  reg [21:0] ip_sum;
  reg [26:0] sum;  // of ICMP or UDP
  sum_words #(
      .WORDS(8)
  ) of_ip (
      .data(ip_bytes),
      .sum (ip_words)
  );
  sum_words #(
      .WORDS(8)
  ) of_payload (
      .data(payload_bytes),
      .sum (payload_words)
  );
  wire tells_udp = in_data[63:56] == 8'd17;
  always @(posedge clk) begin
    ip_bytes <= beat == 0 ? {in_data[127:112], 112'b0} : beat == 1 ? in_data : {112'b0, in_data[15:0]};
    // The sum of UDP has the addresses, protocol and length before it; ICMP's has not.
    payload_bytes <= beat == 1 ? (tells_udp ? {in_data[127:80], 80'b0} : 128'b0)
        : beat == 2 && !udp ? {masked[127:16], 16'b0} : masked;
    extra   <= beat == 1 && tells_udp ? 16'd17 : beat == 2 && udp ? datagram : 16'd0;
    summed  <= {2{in_valid}} & {beat >= 1, beat < 3};
    begins  <= beat == 0;
    ip_more      <= ip_words[18:0];
    payload_more <= payload_words[18:0];
    joining      <= extra;
    joined       <= summed;
    began        <= begins;
    if (joined[0]) ip_sum <= (began ? 22'b0 : ip_sum) + {3'b0, ip_more};
    if (joined[0] && began) sum <= 0;
    if (joined[1]) sum <= sum + {8'b0, payload_more} + {11'b0, joining};
  end

  // Folded once, the sum of words with their check sum is a one's complement zero: FFFF, or with its carry 1FFFE.
  function [16:0] once(input [26:0] value);
    once = {1'b0, value[15:0]} + {6'b0, value[26:16]};
  endfunction
  reg [16:0] ip_once, sum_once;
  reg ip_zero, sum_zero;
  always @(posedge clk) begin
    ip_once  <= once({5'b0, ip_sum});
    sum_once <= once(sum);
    ip_zero  <= ip_once == 17'h0FFFF || ip_once == 17'h1FFFE;
    sum_zero <= sum_once == 17'h0FFFF || sum_once == 17'h1FFFE;
  end

  // What the beats said by themselves is here before the sums, and waits for them.
  wire whole = {1'b0, total} + 17'd14 <= {6'b0, bytes};
  reg [15:0] seen;
  always @(posedge clk)
    seen <= {
      fault, bytes < 11'd60, to_me || (to_all && arp), arp, whole_arp, for_me, ip, plain && total >= 28 && whole, fragment,
      udp, echo, udp_length, no_sum, my_port
    };
  wire [2:0] waited_fault;
  wire runt, addressed, is_arp, arp_whole, host, is_ip, ip_whole, in_parts, is_udp, is_echo, udp_whole, sumless, port;
  delay #(
      .WIDTH (16),
      .CYCLES(BEHIND - 2)
  ) waiting (
      .clk(clk),
      .in (seen),
      .out({
        waited_fault, runt, addressed, is_arp, arp_whole, host, is_ip, ip_whole, in_parts, is_udp, is_echo, udp_whole, sumless,
        port
      })
  );

  reg [BEHIND-1:0] valids, lasts;
  delay #(
      .WIDTH (132),
      .CYCLES(BEHIND)
  ) beats (
      .clk(clk),
      .in ({taken_count, taken}),
      .out({out_count, out_data})
  );
  assign out_valid = valids[BEHIND-1];
  assign out_last  = lasts[BEHIND-1];

  reg [3:0] outcome;
  always @* begin
    case (waited_fault)
      ethernet_pkg::CORRUPT: outcome = udp_pkg::CORRUPT;
      ethernet_pkg::RUNT: outcome = udp_pkg::RUNT;
      ethernet_pkg::JUMBO: outcome = udp_pkg::JUMBO;
      ethernet_pkg::OVERFLOW: outcome = udp_pkg::OVERFLOW;
      default:
      if (runt) outcome = udp_pkg::RUNT;  // by a MAC that lets runts pass
      else if (!addressed) outcome = udp_pkg::MISADDRESSED;
      else if (is_arp) outcome = !arp_whole ? udp_pkg::UNKNOWN : host ? udp_pkg::ACCEPTED : udp_pkg::MISADDRESSED;
      else if (!is_ip) outcome = udp_pkg::UNKNOWN;
      else if (!ip_whole || !ip_zero) outcome = udp_pkg::BAD_HEADER;
      else if (!host) outcome = udp_pkg::MISADDRESSED;
      else if (in_parts) outcome = udp_pkg::FRAGMENT;
      else if (!is_udp && !is_echo) outcome = udp_pkg::UNKNOWN;
      else if (is_udp && !udp_whole) outcome = udp_pkg::BAD_HEADER;
      else if (!sum_zero || (is_udp && sumless)) outcome = udp_pkg::BAD_CHECKSUM;
      else if (is_udp && !port) outcome = udp_pkg::MISADDRESSED;
      else outcome = udp_pkg::ACCEPTED;
    endcase
  end
  /* verilator lint_off WIDTHTRUNC */  // the oldest bit drops out
  always @(posedge clk) begin
    valids <= rst ? 0 : {valids, taken_valid};
    lasts  <= {lasts, taken_last};
    out_events <= valids[BEHIND-2] && lasts[BEHIND-2] ? 16'h0001 << outcome : 16'b0;
    out_kind <= outcome != udp_pkg::ACCEPTED ? DROP : is_arp ? ARP_KIND : is_udp ? MESSAGE : ECHO;
  end
  /* verilator lint_on WIDTHTRUNC */
endmodule
