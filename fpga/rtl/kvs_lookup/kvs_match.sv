// SPDX-License-Identifier: Apache-2.0
// Joins tokens with the two lines of each key, and finds the key's address among their eight slots; latency 2.
module kvs_match (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,
    input  wire         token_end,
    input  wire [  7:0] token_status,
    input  wire [ 63:0] token_word,
    input  wire         token_valid,
    output wire         token_ready,
    input  wire [513:0] line_0,         // response, then four slots of key and address
    input  wire         line_0_valid,
    output wire         line_0_ready,
    input  wire [513:0] line_1,
    input  wire         line_1_valid,
    output wire         line_1_ready,
    output reg          out_end,
    output reg  [  7:0] out_status,
    output reg  [ 63:0] out_word,       // address, 0 where the key is unknown
    output reg          out_valid,
    input  wire         out_ready
);

  reg hit_end, hit_valid;
  reg [7:0] hit_status;
  reg [63:0] hit_word;
  reg [7:0] hit;
  reg [511:0] addresses;

  wire out_free = !out_valid || out_ready;
  wire hit_free = !hit_valid || out_free;
  wire lines = line_0_valid && line_1_valid;

  assign token_ready  = hit_free && (token_end || lines);
  assign line_0_ready = hit_free && lines && token_valid && !token_end;
  assign line_1_ready = line_0_ready;
  assign idle         = !hit_valid && !out_valid;

  wire [1:0] response = line_0[513:512] | line_1[513:512];
  wire [1023:0] slots = {line_1[511:0], line_0[511:0]};

  // The first slot that holds the key has the address; an address of 0 marks a free slot.
  reg [63:0] hit_address;
  integer i;
  always @* begin
    hit_address = 64'b0;
    for (i = 7; i >= 0; i = i - 1) if (hit[i]) hit_address = addresses[i*64+:64];
  end

  always @(posedge clk) begin
    if (hit_free) begin
      hit_end    <= token_end;
      hit_word   <= token_word;
      hit_status <= token_end ? token_status : response == 2'b11 ? device_pkg::OUT_OF_BOUNDS
          : response == 2'b10 ? device_pkg::FAILED : device_pkg::OK;
      for (i = 0; i < 8; i = i + 1) begin
        hit[i] <= slots[i*128+:64] == token_word && slots[i*128+64+:64] != 0;
        addresses[i*64+:64] <= slots[i*128+64+:64];
      end
    end
    if (out_free) begin
      out_end    <= hit_end;
      out_status <= hit_status;
      out_word   <= hit_end ? hit_word : hit_address;
    end
    if (rst) begin
      hit_valid <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (hit_free) hit_valid <= token_valid && token_ready;
      if (out_free) out_valid <= hit_valid;
    end
  end
endmodule
