// SPDX-License-Identifier: Apache-2.0
// The store of rows, and a beat that is followed: it comes out in its turn unless its row was dropped, and then never.
module row_store_check #(
    parameter DEPTH = 4
) (
    input wire       clk,
    input wire       rst,
    input wire       put,
    input wire       last,
    input wire       drop,
    input wire       in_data,
    input wire       take,
    input wire       follow
);
  wire room;
  wire out_data;
  row_store #(1, DEPTH) store (clk, rst, put, last, drop, in_data, room, take, out_data);

  reg started = 1'b0, leaves = 1'b0, room_earlier;
  reg following = 1'b0, whole;  // the followed beat's row is
  reg beat, leaving;
  reg [3:0] ready, partial, ahead;  // beats of whole rows, of the row that comes in, before the followed one
  always @(posedge clk) begin
    started <= 1'b1;
    leaves  <= 1'b0;
    room_earlier <= room && !rst;
    ready   <= rst ? 4'd0 : ready - take + (put && last ? partial + 1'b1 : 4'd0);
    partial <= rst || drop || (put && last) ? 4'd0 : partial + put;
    if (rst) following <= 1'b0;
    else if (following) begin
      whole <= whole || (put && last);
      ahead <= ahead - take;
      if (drop && !whole) following <= 1'b0;
      if (take && ahead == 0) begin
        following <= 1'b0;
        leaves <= 1'b1;
        leaving <= beat;
      end
    end else if (put && follow) begin
      following <= 1'b1;
      whole <= last;
      beat  <= in_data;
      ahead <= ready + partial - take;
    end
  end

  always @* begin
    if (!started) assume (rst);
    if (put) assume (room_earlier && !drop);
    if (take) assume (ready != 0);
    if (started && !rst) begin
      assert (ready + partial < DEPTH);
      assert (room == (ready + partial < DEPTH - 2));
      if (leaves) assert (out_data == leaving);
    end
  end
endmodule
