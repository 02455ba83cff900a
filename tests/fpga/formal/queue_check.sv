// SPDX-License-Identifier: Apache-2.0
// A queue of any kind, and a beat that is followed through it: nothing is lost, made up or overtaken.
module queue_check #(
    // 0: fifo, 1: skid_buffer, 2: deep_fifo.
    parameter KIND  = 0,
    // Beats that fit.
    parameter DEPTH = 4
) (
    input wire       clk,
    input wire       rst,
    input wire [1:0] in_data,
    input wire       in_valid,
    input wire       out_ready,
    input wire       follow
);
  wire in_ready, out_valid;
  wire [1:0] out_data;
  generate
    if (KIND == 0) begin : kind
      wire [$clog2(DEPTH):0] level;
      fifo #(2, DEPTH) queue (clk, rst, in_data, in_valid, in_ready, out_data, out_valid, out_ready, level);
      always @* if (started && !rst) assert (level == count);
    end else if (KIND == 1) begin : kind
      skid_buffer #(2) queue (clk, rst, in_data, in_valid, in_ready, out_data, out_valid, out_ready);
    end else begin : kind
      wire room;
      deep_fifo #(2, DEPTH - 1, 1) queue (clk, rst, in_data, in_valid, in_ready, out_data, out_valid, out_ready, room);
      always @* if (started && !rst && room) assert (count < DEPTH);
    end
  endgenerate

  reg started = 1'b0, running = 1'b0;  // running: no reset in the cycle before
  reg following = 1'b0;
  reg [1:0] beat, held;
  reg [3:0] count, ahead;  // beats inside, and those before the one that is followed
  reg blocked = 1'b0;
  wire put = in_valid && in_ready, take = out_valid && out_ready;
  always @(posedge clk) begin
    started <= 1'b1;
    running <= !rst;
    blocked <= out_valid && !out_ready && !rst;
    held    <= out_data;
    count   <= rst ? 4'd0 : count + put - take;
    if (rst) following <= 1'b0;
    else if (following) begin
      if (take) ahead <= ahead - 1'b1;
      if (take && ahead == 0) following <= 1'b0;
    end else if (put && follow) begin
      following <= 1'b1;
      beat <= in_data;
      ahead <= count - take;
    end
  end

  reg fresh;  // a beat went in a cycle ago
  always @(posedge clk) fresh <= put && !rst;

  always @* begin
    if (!started) assume (rst);
    if (started && !rst) begin
      assert (count <= DEPTH);
      if (take) assert (count != 0);
      if (KIND != 2) assert (out_valid == (count != 0));  // what went in is offered a cycle later
      else assert (out_valid || count == 0 || (count == 1 && fresh));  // or two
      if (KIND != 2) assert (in_ready == (count != DEPTH));
      else if (count < DEPTH - 1) assert (in_ready);
      if (following && ahead == 0 && out_valid) assert (out_data == beat);
      if (following) assert (ahead < count);
      if (running && blocked) assert (out_valid && out_data == held);
    end
  end
endmodule
