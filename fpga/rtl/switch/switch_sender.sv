// SPDX-License-Identifier: Apache-2.0
// Packets of a switch: the headers of the packet that caused one, from the switch's addresses, and lanes.
module switch_sender #(
    // Bytes of the headers, 49 to 60.
    parameter HEADER = 54,
    // Beats of lanes, a power of two, 4 to 16.
    parameter BEATS  = 16
) (
    input  wire                clk,
    input  wire                rst,
    /* verilator lint_off UNUSEDSIGNAL */ input wire [HEADER*8-1:0] in_head, /* verilator lint_on UNUSEDSIGNAL */  // first byte lowest; as they leave but for the addresses
    input  wire [        47:0] in_to,        // MAC address, likewise
    input  wire                in_bare,      // without lanes
    input  wire                in_valid,
    output wire                in_ready,
    input  wire [       127:0] lanes,        // BEATS for each packet that is not bare, never refused
    input  wire                lanes_valid,
    output wire [       127:0] out_data,
    output wire [         3:0] out_count,
    output wire                out_last,
    output wire                out_valid,
    input  wire                out_ready
);
  if (HEADER < 49 || HEADER > 60) begin : wrong_HEADER switch_sender_needs_HEADER_from_49_to_60 refused (); end
  if (BEATS < 4 || BEATS > 16 || (BEATS & (BEATS - 1)) != 0) begin : wrong_BEATS switch_sender_needs_BEATS_a_power_of_two_4_to_16 refused (); end

  localparam [2:0] IDLE = 0, SUM = 1, FOLD = 2, HEAD = 3, BODY = 4;
  localparam REST = HEADER - 48;  // bytes of the headers in their fourth beat
  localparam PLACE = BEATS - 1, COUNT = REST - 1;

  function [15:0] swap(input [15:0] word);
    swap = {word[7:0], word[15:8]};
  endfunction
  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction
  function [15:0] fold(input [21:0] value);
    reg [16:0] once;
    begin
      once = {1'b0, value[15:0]} + {11'b0, value[21:16]};
      fold = once[15:0] + {15'b0, once[16]};
    end
  endfunction

  reg [2:0] state;
  reg [HEADER*8-1:0] head;
  reg [21:0] words;  // summed of the IP header
  reg bare;
  reg [3:0] place;
  reg [REST*8-1:0] rest;  // of the beat before: what does not fit beside the headers moves on
  assign in_ready = state == IDLE;

  wire [127:0] next;
  wire next_valid, next_ready;
  fifo #(
      .WIDTH(128),
      .DEPTH(BEATS)
  ) waiting (
      .*,
      .in_data(lanes),
      .in_valid(lanes_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // one packet at a time
      .out_data(next),
      .out_valid(next_valid),
      .out_ready(next_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire [47:0] switch_mac = {
    swap(switch_pkg::SWITCH_MAC[15:0]), swap(switch_pkg::SWITCH_MAC[31:16]), swap(switch_pkg::SWITCH_MAC[47:32])
  };
  wire [159:0] ip_bare = {32'hFFFFFFFF, swap_word(switch_pkg::SWITCH_IP), 16'h0000, head[14*8+:80]};
  wire [21:0] ip_words;
  sum_words #(
      .WORDS(10)
  ) of_ip (
      .data(ip_bare),
      .sum (ip_words)
  );

  wire on_lanes = state == BODY || place == 3 && !bare;
  assign out_valid  = state == HEAD && !on_lanes || on_lanes && (next_valid || out_last);
  assign out_last   = state == HEAD ? place == 3 && bare : state == BODY && place == PLACE[3:0];
  assign out_count  = out_last ? COUNT[3:0] : 4'd15;
  assign out_data   = state == HEAD && !on_lanes ? head[127:0]
      : {next[127-REST*8:0], state == HEAD ? head[REST*8-1:0] : rest};
  assign next_ready = out_ready && on_lanes && !out_last;

  always @(posedge clk) begin
    case (state)
      IDLE: begin
        head  <= {in_head[HEADER*8-1:48], in_to};
        bare  <= in_bare;
        place <= 0;
        if (in_valid) state <= SUM;
      end
      SUM: begin
        words <= ip_words;
        state <= FOLD;
      end
      FOLD: begin
        head[48+:48]   <= switch_mac;
        head[24*8+:80] <= {ip_bare[159:96], swap(~fold(words))};
        state          <= HEAD;
      end
      HEAD:
      if (out_valid && out_ready) begin
        head  <= head >> 128;
        rest  <= next[127-:REST*8];
        place <= place == 3 ? 4'd0 : place + 1'b1;
        if (place == 3) state <= bare ? IDLE : BODY;
      end
      default:
      if (out_valid && out_ready) begin
        rest  <= next[127-:REST*8];
        place <= place + 1'b1;
        if (out_last) state <= IDLE;
      end
    endcase
    if (rst) state <= IDLE;
  end
endmodule
