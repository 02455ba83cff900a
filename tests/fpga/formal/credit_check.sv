// SPDX-License-Identifier: Apache-2.0
// Credits before a pipeline that cannot wait, a queue behind it: the queue never overflows, and no credit goes missing.
module credit_check #(
    parameter COUNT   = 4,
    parameter LATENCY = 3
) (
    input wire clk,
    input wire rst,
    input wire start,
    input wire out_ready
);
  wire available, out_valid, in_ready;
  wire take = start && available, give = out_valid && out_ready;
  wire [$clog2(COUNT):0] level;
  reg [LATENCY-1:0] moving;
  reg [3:0] outstanding;
  reg started = 1'b0;
  credit #(COUNT) places (clk, rst, available, take, give);
  fifo #(1, COUNT) queue (clk, rst, 1'b0, moving[LATENCY-1], in_ready, , out_valid, out_ready, level);

  always @(posedge clk) begin
    started     <= 1'b1;
    moving      <= rst ? {LATENCY{1'b0}} : {moving, take};
    outstanding <= rst ? 4'd0 : outstanding + take - give;
  end

  always @* begin
    if (!started) assume (rst);
    if (started && !rst) begin
      if (moving[LATENCY-1]) assert (in_ready);
      assert (available == (outstanding < COUNT));
    end
  end
endmodule
