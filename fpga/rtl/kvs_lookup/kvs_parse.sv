// SPDX-License-Identifier: Apache-2.0
// Takes request packets apart: a token for each key, and one for the end of each packet with its status and number.
`include "axi.svh"
module kvs_parse #(
    // Bits of a beat, a multiple of 64, 128 or more.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,
    output wire               idle,
    `AXIS_IN(s_axis, WIDTH),
    output wire               token_end,
    output wire [        7:0] token_status,
    output wire [       63:0] token_word,     // key, or the request's number
    output wire               token_valid,
    input  wire               token_ready
);
  if (WIDTH < 128 || WIDTH % 64 != 0) begin : wrong_WIDTH kvs_parse_needs_WIDTH_a_multiple_of_64_128_or_more refused (); end

  localparam KEYS = WIDTH / 64;
  localparam [1:0] HEADER = 0, PAYLOAD = 1, END = 2;

  reg [1:0] state;
  reg [WIDTH-1:0] beat;
  reg [KEYS-1:0] left;  // keys of the beat still to be offered, the lowest bits set
  reg ending;           // the beat is the packet's last
  reg [31:0] wanted, seen;
  reg [63:0] number;
  reg [7:0] status;

  reg [KEYS-1:0] whole;  // keys that the beat has, up to the first that is not whole
  integer i;
  always @* begin
    whole[0] = &s_axis_tkeep[7:0];
    for (i = 1; i < KEYS; i = i + 1) whole[i] = whole[i-1] && &s_axis_tkeep[i*8+:8];
  end
  reg ragged;  // bytes that are no key's
  always @* begin
    ragged = 1'b0;
    for (i = 0; i < KEYS; i = i + 1) ragged = ragged | (|s_axis_tkeep[i*8+:8] && !whole[i]);
  end

  wire taken = token_valid && token_ready;
  wire emptied = left == 0 || (left == 1 && taken);
  wire accepted = s_axis_tvalid && s_axis_tready;

  assign s_axis_tready = state == HEADER || (state == PAYLOAD && emptied && !ending);
  assign token_end     = state == END;
  assign token_valid   = token_end || (state == PAYLOAD && left != 0);
  assign token_word    = token_end ? number : beat[63:0];
  assign token_status  = status != device_pkg::OK ? status : seen != wanted ? device_pkg::BAD_LENGTH : device_pkg::OK;
  assign idle          = state == HEADER;

  always @(posedge clk) begin
    if (accepted && state == HEADER) begin
      wanted <= s_axis_tdata[63:32];
      number <= s_axis_tdata[127:64];
      seen   <= 0;
      left   <= 0;
      ending <= s_axis_tlast;
      status <= s_axis_tdata[31:0] != 0 ? device_pkg::UNKNOWN_FUNCTION
          : !(&s_axis_tkeep[15:0]) ? device_pkg::BAD_LENGTH : device_pkg::OK;
    end else if (accepted) begin
      beat   <= s_axis_tdata;
      left   <= status == device_pkg::OK ? whole : {KEYS{1'b0}};
      ending <= s_axis_tlast;
      if (status == device_pkg::OK && (ragged || (!s_axis_tlast && !(&whole)))) status <= device_pkg::BAD_LENGTH;
    end else if (taken && state == PAYLOAD) begin
      beat <= beat >> 64;
      left <= left >> 1;
    end
    if (taken && state == PAYLOAD) seen <= seen + 1'b1;
    if (cancel && state != HEADER) begin
      status <= device_pkg::ABORTED;
      left   <= 0;
    end
    if (rst) begin
      state <= HEADER;
      left  <= 0;
    end else
      case (state)
        HEADER:  if (accepted) state <= s_axis_tlast ? END : PAYLOAD;
        PAYLOAD: if (ending && emptied) state <= END;
        default: if (taken) state <= HEADER;
      endcase
  end
endmodule
