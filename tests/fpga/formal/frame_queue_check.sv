// SPDX-License-Identifier: Apache-2.0
// The queue of frames, and a beat that is followed: it comes out in its turn if its frame was kept, and else never. Between
// a frame's beats there is no pause but the taker's.
module frame_queue_check #(
    parameter DEPTH = 4
) (
    input wire clk,
    input wire rst,
    input wire in_data,
    input wire in_last,
    input wire in_keep,
    input wire in_alone,
    input wire in_valid,
    input wire out_ready,
    input wire follow
);
  wire room, kept, lost, out_data, out_last, out_valid;
  frame_queue #(1, DEPTH) queue (
      clk, rst, in_data, in_last, in_keep, in_alone, in_valid, room, kept, lost, out_data, out_last, out_valid, out_ready
  );

  reg started = 1'b0, inner = 1'b0, blocked = 1'b0, full;  // full: a beat of this frame had no room
  reg following = 1'b0, whole;  // the followed beat's frame is
  reg [1:0] beat, held;
  reg [3:0] ready, partial, ahead;  // beats of whole frames, of the frame that comes in, before the followed one
  wire take = out_valid && out_ready;
  wire ends = in_valid && in_last;
  wire put = in_valid && room && !full;
  always @(posedge clk) begin
    started <= 1'b1;
    inner   <= !rst && (take ? !out_last : inner);
    blocked <= !rst && out_valid && !out_ready;
    held    <= {out_last, out_data};
    full    <= !rst && !ends && (full || (in_valid && !room));
    ready   <= rst ? 4'd0 : ready - take + (!kept ? 4'd0 : in_alone ? 4'd1 : partial + 1'b1);
    partial <= rst || ends ? 4'd0 : partial + put;
    if (rst) following <= 1'b0;
    else if (following) begin
      if (ends) whole <= 1'b1;
      if (ends && !whole && (!kept || in_alone)) following <= 1'b0;
      ahead <= ahead - take;
      if (take && ahead == 0) following <= 1'b0;
    end else if (follow && (in_last ? kept : put)) begin
      following <= 1'b1;
      whole <= in_last;
      beat  <= {in_last, in_data};
      ahead <= ready - take + (in_last && in_alone ? 4'd0 : partial);
    end
  end

  always @* begin
    if (!started) assume (rst);
    if (started && !rst) begin
      assert (room == (ready - out_valid + partial < DEPTH));
      assert (kept == (ends && in_keep && put));
      assert (lost == (ends && in_keep && !put));
      assert (!out_valid || ready != 0);
      assert (!inner || out_valid);
      if (blocked) assert (out_valid && held == {out_last, out_data});
      if (following && ahead == 0 && out_valid) assert (whole && beat == {out_last, out_data});
    end
  end
endmodule
