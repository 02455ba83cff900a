// SPDX-License-Identifier: Apache-2.0
// The queue between two clocks that tick as they like, and a beat that is followed through it: nothing is lost, made up or
// overtaken; what is inside is offered within four edges, and what is free is given within five.
module async_fifo_check #(
    parameter DEPTH = 4
) (
    input wire       in_clk,
    input wire       out_clk,
    input wire       hold_rst,
    input wire [0:0] in_data,
    input wire       in_valid,
    input wire       out_ready,
    input wire       follow
);
  // Reset ends at any time after an edge of each clock and then four more of each.
  (* gclk *) wire step;
  reg rst = 1'b1;
  reg [2:0] in_edges = 0, out_edges = 0;
  always @(posedge in_clk) if (in_edges == 0 || (out_edges != 0 && in_edges != 5)) in_edges <= in_edges + 1'b1;
  always @(posedge out_clk) if (out_edges == 0 || (in_edges != 0 && out_edges != 5)) out_edges <= out_edges + 1'b1;
  always @(posedge step) if (in_edges == 5 && out_edges == 5 && !hold_rst) rst <= 1'b0;

  wire in_ready, out_valid;
  wire [0:0] out_data;
  async_fifo #(1, DEPTH) queue (
      in_clk, rst, in_data, in_valid, in_ready, out_clk, rst, out_data, out_valid, out_ready
  );

  localparam BITS = $clog2(DEPTH) + 1;
  reg [BITS-1:0] puts = 0, takes = 0, place = 0;
  reg following = 1'b0;  // for good: the pointers' rounds make the place ambiguous later
  reg past = 1'b0;
  reg beat;
  reg [2:0] since_put = 0, since_take = 0;  // edges of the other clock
  wire [BITS-1:0] count = puts - takes;
  wire put = in_valid && in_ready && !rst, take = out_valid && out_ready && !rst;

  always @(posedge in_clk) begin
    if (put) puts <= puts + 1'b1;
    if (put && follow && !following) begin
      following <= 1'b1;
      beat      <= in_data;
      place     <= puts;
    end
  end
  always @(posedge out_clk) begin
    if (take) takes <= takes + 1'b1;
    if (take && following && takes == place) past <= 1'b1;
  end

  // Edges that have passed since the other side last moved.
  reg [BITS-1:0] puts_seen = 0, takes_seen = 0;
  always @(posedge out_clk) begin
    puts_seen <= puts;
    since_put <= puts_seen != puts ? 3'd0 : since_put == 7 ? 3'd7 : since_put + 1'b1;
  end
  always @(posedge in_clk) begin
    takes_seen <= takes;
    since_take <= takes_seen != takes ? 3'd0 : since_take == 7 ? 3'd7 : since_take + 1'b1;
  end

  always @* begin
    if (!rst) begin
      assert (count <= DEPTH);
      if (out_valid) assert (count != 0);
      if (in_ready) assert (count != DEPTH);
      if (following && !past && takes == place && out_valid) assert (out_data == beat);
      if (puts == puts_seen && since_put >= 4 && count != 0) assert (out_valid);
      if (takes == takes_seen && since_take >= 5 && count != DEPTH) assert (in_ready);
    end
  end
endmodule
