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
    output reg          out_end,
    output reg  [  7:0] out_status,
    output reg  [191:0] out_request,  // tick, start, blocks, volume; or the packet's number
    output reg          out_asks,     // a request of a volume that there is
    output reg          out_valid,
    input  wire         out_ready
);

  reg [127:0] words;
  reg [1:0] held;

  wire free = !out_valid || out_ready;
  wire whole = token_end || held == 2;
  wire taken = token_valid && token_ready;
  assign token_ready = free || !whole;

  always @(posedge clk) begin
    if (taken && whole) begin
      out_end     <= token_end;
      out_status  <= token_status == device_pkg::OK && token_end && held != 0 ? device_pkg::BAD_LENGTH : token_status;
      out_asks    <= !token_end && words[31:0] < volumes;
      out_request <= token_end ? {128'b0, token_word} : {token_word, words};
    end
    if (taken) words <= {token_word, words[127:64]};
    if (rst) begin
      held      <= 0;
      out_valid <= 1'b0;
    end else begin
      if (taken) held <= whole ? 0 : held + 1'b1;
      if (free || (taken && whole)) out_valid <= taken && whole;
    end
  end
endmodule
