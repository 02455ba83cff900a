// SPDX-License-Identifier: Apache-2.0
// A packet of the switch to everybody: the headers of the contribution that caused it, with what a sum's are, and lanes.
module aggregate_sender (
    input  wire         clk,
    input  wire         rst,
    input  wire [431:0] in_head,      // of the contribution, 54 bytes, first byte lowest; all of its fields but these:
    input  wire         in_pulls,     // PULL, without lanes; else RESULT
    input  wire [ 31:0] in_present,
    input  wire [ 15:0] in_exponent,
    input  wire [  7:0] in_flags,
    input  wire         in_valid,
    output wire         in_ready,
    input  wire [127:0] lanes,        // 16 beats for each RESULT, never refused
    input  wire         lanes_valid,
    output wire [127:0] out_data,
    output wire [  3:0] out_count,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready
);
  localparam [2:0] IDLE = 0, SUM = 1, FOLD = 2, HEAD = 3, BODY = 4;
  localparam [15:0] SHORT = {5'b0, allreduce_pkg::HEADER_BYTES} - 16'd14;  // behind Ethernet

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
  reg [431:0] head;
  reg [21:0] words;  // summed of the IP header
  reg pulls;
  reg [3:0] place;
  reg [47:0] rest;  // of the beat before: what does not fit beside the headers moves on
  assign in_ready = state == IDLE;

  wire [127:0] next;
  wire next_valid, next_ready;
  fifo #(
      .WIDTH(128),
      .DEPTH(16)
  ) waiting (
      .clk(clk),
      .rst(rst),
      .in_data(lanes),
      .in_valid(lanes_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // one packet at a time
      .out_data(next),
      .out_valid(next_valid),
      .out_ready(next_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire [47:0] switch_mac = {
    swap(allreduce_pkg::SWITCH_MAC[15:0]), swap(allreduce_pkg::SWITCH_MAC[31:16]), swap(allreduce_pkg::SWITCH_MAC[47:32])
  };
  wire [159:0] ip_bare = {32'hFFFFFFFF, swap_word(allreduce_pkg::SWITCH_IP), 16'h0000, head[14*8+:80]};
  wire [21:0] ip_words;
  sum_words #(
      .WORDS(10)
  ) of_ip (
      .data(ip_bare),
      .sum (ip_words)
  );

  // Beat 3 has the last six bytes of the headers.
  wire on_lanes = state == BODY || place == 3 && !pulls;
  assign out_valid  = state == HEAD && !on_lanes || on_lanes && (next_valid || out_last);
  assign out_last   = state == HEAD ? place == 3 && pulls : state == BODY && place == 15;
  assign out_count  = out_last ? 4'd5 : 4'd15;
  assign out_data   = state == HEAD && !on_lanes ? head[127:0] : {next[79:0], state == HEAD ? head[47:0] : rest};
  assign next_ready = out_ready && on_lanes && !out_last;

  always @(posedge clk) begin
    case (state)
      IDLE: begin
        head  <= in_head;
        pulls <= in_pulls;
        place <= 0;
        if (in_valid) begin
          head[16*8+:16] <= in_pulls ? swap(SHORT) : in_head[16*8+:16];
          head[42*8+:32] <= swap_word(in_present);
          head[48*8+:32] <= {
            in_pulls ? allreduce_pkg::PULL : allreduce_pkg::RESULT, allreduce_pkg::SWITCH_RANK, swap(in_exponent)
          };
          head[52*8+:8] <= in_flags;
          state <= SUM;
        end
      end
      SUM: begin
        words <= ip_words;
        state <= FOLD;
      end
      FOLD: begin
        head[0+:112]    <= {head[96+:16], switch_mac, 48'hFFFFFFFFFFFF};
        head[24*8+:80]  <= {ip_bare[159:96], swap(~fold(words))};
        state <= HEAD;
      end
      HEAD:
      if (out_valid && out_ready) begin
        head  <= head >> 128;
        rest  <= next[127:80];
        place <= place == 3 ? 4'd0 : place + 1'b1;
        if (place == 3) state <= pulls ? IDLE : BODY;
      end
      default:
      if (out_valid && out_ready) begin
        rest  <= next[127:80];
        place <= place + 1'b1;
        if (out_last) state <= IDLE;
      end
    endcase
    if (rst) state <= IDLE;
  end
endmodule
