// SPDX-License-Identifier: Apache-2.0
// A queue between two unrelated clocks, its head in sight: pointers cross in Gray code, which changes one bit at a time.
// What goes in is offered after two to three cycles of the clock that reads; a place is free again three to four cycles of
// the clock that writes after its beat was taken. Both resets have to overlap for five cycles of each clock: pointers of one round mean nothing in another.
module async_fifo #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 8,
    // Beats, a power of two, 4 or more: fewer do not cover the way of a pointer there and back.
    parameter DEPTH = 16
) (
    input  wire             in_clk,
    input  wire             in_rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output reg              in_ready,
    input  wire             out_clk,
    input  wire             out_rst,
    output wire [WIDTH-1:0] out_data,
    output wire             out_valid,
    input  wire             out_ready
);
  if (WIDTH < 1) begin : wrong_WIDTH async_fifo_needs_WIDTH_of_1_or_more refused (); end
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH async_fifo_needs_DEPTH_a_power_of_two_4_or_more refused (); end

  localparam BITS = $clog2(DEPTH);

  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [BITS:0] written, written_gray, taken, taken_gray;
  wire [BITS:0] written_there, taken_here;

  wire [BITS:0] written_next = written + 1'b1;
  wire [BITS:0] taken_next = taken + 1'b1;

  wire [BITS:0] written_next_gray = written_next ^ (written_next >> 1);
  wire writes = in_valid && in_ready;

  // A round apart, Gray codes differ in their two highest bits.
  wire [BITS:0] round_ahead = taken_here ^ {2'b11, {BITS - 1{1'b0}}};
  assign out_valid = taken_gray != written_there;
  assign out_data  = memory[taken[BITS-1:0]];

  always @(posedge in_clk) begin
    if (writes) memory[written[BITS-1:0]] <= in_data;
    if (in_rst) begin
      written      <= 0;
      written_gray <= 0;
      in_ready     <= 1'b1;
    end else begin
      if (writes) begin
        written      <= written_next;
        written_gray <= written_next_gray;
      end
      in_ready <= (writes ? written_next_gray : written_gray) != round_ahead;
    end
  end

  always @(posedge out_clk) begin
    if (out_rst) begin
      taken      <= 0;
      taken_gray <= 0;
    end else if (out_valid && out_ready) begin
      taken      <= taken_next;
      taken_gray <= taken_next ^ (taken_next >> 1);
    end
  end

  synchroniser #(
      .WIDTH(BITS + 1)
  ) to_out (
      .clk(out_clk),
      .in (written_gray),
      .out(written_there)
  );

  synchroniser #(
      .WIDTH(BITS + 1)
  ) to_in (
      .clk(in_clk),
      .in (taken_gray),
      .out(taken_here)
  );
endmodule
