// SPDX-License-Identifier: Apache-2.0
// The frame parser of a switch's engine: it collects the headers of a frame, gives the engine the lanes behind them beat
// by beat, and drops whatever the engine leaves. A frame takes a cycle for each of its beats.
module switch_parser #(
    // Bytes of the headers, 49 to 63.
    parameter HEADER_BYTES = 54
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire [             127:0] in_data,
    input  wire                      in_last,
    input  wire                      in_whole,  // the frame has all of its lanes
    input  wire                      in_valid,
    output wire                      in_ready,
    input  wire                      idle,      // the engine waits for a frame
    input  wire                      takes,     // the engine takes lanes
    input  wire                      hold,      // no frame begins
    output wire                      between,   // no frame has begun, and the one before has ended
    output wire                      begins,    // the headers are there from the next cycle on
    output reg  [HEADER_BYTES*8-1:0] head,      // first byte lowest
    output reg                       whole,
    output wire [             127:0] lanes      // those of a beat, with in_valid while the engine takes them
);
  if (HEADER_BYTES < 49 || HEADER_BYTES > 63) begin : wrong_HEADER_BYTES switch_parser_needs_HEADER_BYTES_from_49_to_63 refused (); end

  localparam LEFT = (64 - HEADER_BYTES) * 8;  // bits of a beat that belong to the lanes of the next one

  reg [1:0] beat;  // of the headers
  reg ended;  // the last beat of the frame before has come
  reg [LEFT-1:0] rest;

  wire heads = idle && ended;
  assign between  = heads && beat == 0;
  assign begins   = heads && in_valid && beat == 3;
  assign in_ready = idle && !(between && hold) || takes;
  assign lanes    = {in_data[127-LEFT:0], rest};

  always @(posedge clk) begin
    if (in_valid && in_ready) begin
      rest <= in_data[127-:LEFT];
      if (heads) begin
        head  <= {in_data[127-LEFT:0], rest, head[HEADER_BYTES*8-1:128]};
        whole <= in_whole;
        beat  <= in_last ? 2'd0 : beat + 1'b1;  // no frame is shorter than its headers
      end
      if (!heads || beat == 3) ended <= in_last;
    end
    if (rst) begin
      beat  <= 0;
      ended <= 1'b1;
    end
  end
endmodule
