// SPDX-License-Identifier: Apache-2.0
// Puts three words of a packet together into a request; a packet that ends within one has a bad length.
module ebs_gather (
    input  wire         clk,
    input  wire         rst,
    input  wire [ 31:0] volumes,      // that there are
    input  wire         token_end,
    input  wire [  7:0] token_status,
    input  wire [ 63:0] token_word,
    input  wire         token_valid,
    output wire         token_ready,
    output wire         out_end,
    output wire [  7:0] out_status,
    output wire [191:0] out_request,  // tick, start, blocks, volume; or the packet's number
    output wire         out_asks,     // a request of a volume that there is
    output wire         out_valid,
    input  wire         out_ready
);

  reg [127:0] words;
  reg [1:0] held;

  wire free;
  wire whole = token_end || held == 2;
  wire taken = token_valid && token_ready;
  assign token_ready = free || !whole;

  always @(posedge clk) begin
    if (taken) words <= {token_word, words[127:64]};
    if (rst) held <= 0;
    else if (taken) held <= whole ? 0 : held + 1'b1;
  end

  // When a request goes on depends on much: no word waits to know.
  skid_buffer #(
      .WIDTH(1 + 8 + 1 + 192)
  ) gathered (
      .*,
      .in_data({
        token_end,
        token_status == device_pkg::OK && token_end && held != 0 ? device_pkg::BAD_LENGTH : token_status,
        !token_end && words[31:0] < volumes,
        token_end ? {128'b0, token_word} : {token_word, words}
      }),
      .in_valid(token_valid && whole),
      .in_ready(free),
      .out_data({out_end, out_status, out_asks, out_request})
  );
endmodule
