// SPDX-License-Identifier: Apache-2.0
// A queue of frames in block RAM: beats come at any time and are never refused; with its last beat a frame is kept whole or
// forgotten, and none of it is offered before. From then on its beats leave one a cycle.
module frame_queue #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 132,
    // Beats, a power of two, 4 or more.
    parameter DEPTH = 512
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_last,
    input  wire             in_keep,   // with the last beat: the frame is wanted
    input  wire             in_alone,  // with it: this beat stands for the whole frame
    input  wire             in_valid,
    output wire             room,      // for the beat that comes: who waits for it loses no frame of up to DEPTH beats
    output wire             kept,      // the frame that ends stays
    output wire             lost,      // it was wanted, and there was no room
    output reg  [WIDTH-1:0] out_data,
    output reg              out_last,
    output reg              out_valid,
    input  wire             out_ready
);
  if (WIDTH < 1) begin : wrong_WIDTH frame_queue_needs_WIDTH_of_1_or_more refused (); end
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH frame_queue_needs_DEPTH_a_power_of_two_4_or_more refused (); end

  localparam BITS = $clog2(DEPTH);

  (* ram_style = "block", no_rw_check *)  // what is fetched was kept before
  reg [WIDTH:0] memory[0:DEPTH-1];
  reg [BITS:0] written, whole, taken;
  reg full;  // a beat of this frame had no room

  assign room = written != {!taken[BITS], taken[BITS-1:0]};
  wire ends = in_valid && in_last;
  assign kept = ends && in_keep && room && !full;
  assign lost = ends && in_keep && !kept;
  wire [BITS:0] place = in_last && in_alone ? whole : written;
  wire [BITS:0] behind = place + 1'b1;
  wire fetch = taken != whole && (!out_valid || out_ready);

  always @(posedge clk) begin
    if (in_valid && room) memory[place[BITS-1:0]] <= {in_last, in_data};
    if (fetch) {out_last, out_data} <= memory[taken[BITS-1:0]];
    if (rst) begin
      written   <= 0;
      whole     <= 0;
      taken     <= 0;
      full      <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (in_valid) begin
        if (in_last) written <= kept ? behind : whole;
        else if (room && !full) written <= behind;
        full <= !in_last && (full || !room);
      end
      if (kept) whole <= behind;
      if (fetch) taken <= taken + 1'b1;
      if (fetch || out_ready) out_valid <= fetch;
    end
  end
endmodule
