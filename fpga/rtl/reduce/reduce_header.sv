// SPDX-License-Identifier: Apache-2.0
// Decodes a request's first beat (model: offramp.leo.functions.reduce).
module reduce_header #(
    // Bits of a beat, a power of two, 128 or more.
    parameter WIDTH = 512,
    // Beats that a vector may have.
    parameter MOST = 512,
    // Vectors of a request: 2, 4 or 8; requests of more, up to 8, are answered with UNKNOWN_FUNCTION.
    parameter INPUTS = 8,
    // 1: sums float32 and bfloat16; 0: answers such requests with UNKNOWN_FUNCTION, and lacks their adders.
    parameter FLOAT32S = 1,
    parameter BFLOAT16S = 1
) (
    input  wire [       127:0] data,
    input  wire                whole,    // the beat has the header's 16 bytes
    output wire [         1:0] kind,
    output wire [         7:0] present,  // vectors, the first in bit 0
    output wire [        31:0] count,
    output wire [        63:0] number,
    output wire [        31:0] beats,    // of a vector
    output wire [ WIDTH/8-1:0] need,     // bytes of a vector's last beat that it must have
    output wire [         7:0] status
);
  if (WIDTH < 128 || (WIDTH & (WIDTH - 1)) != 0) begin : wrong_WIDTH reduce_header_needs_WIDTH_a_power_of_two_128_or_more refused (); end
  if (MOST < 1) begin : wrong_MOST reduce_header_needs_MOST_of_1_or_more refused (); end
  if (INPUTS != 2 && INPUTS != 4 && INPUTS != 8) begin : wrong_INPUTS reduce_header_needs_INPUTS_of_2_or_4_or_8 refused (); end
  if (FLOAT32S != 0 && FLOAT32S != 1) begin : wrong_FLOAT32S reduce_header_needs_FLOAT32S_of_0_or_1 refused (); end
  if (BFLOAT16S != 0 && BFLOAT16S != 1) begin : wrong_BFLOAT16S reduce_header_needs_BFLOAT16S_of_0_or_1 refused (); end

  localparam BYTES = $clog2(WIDTH / 8);

  wire half = data[1:0] == 2'd3;  // bfloat16
  wire built = half ? BFLOAT16S != 0 : data[1:0] != 2'd2 || FLOAT32S != 0;
  wire [7:0] vectors = data[15:8];
  /* verilator lint_off WIDTHEXPAND */ wire [34:0] size = half ? {data[63:32], 1'b0} : {data[63:32], 2'b0}; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  wire [BYTES-1:0] rest = size[BYTES-1:0];

  assign kind    = data[1:0];
  assign count   = data[63:32];
  assign number  = data[127:64];
  /* verilator lint_off WIDTHEXPAND */ assign beats   = size[34:BYTES] + (rest != 0); /* verilator lint_on WIDTHEXPAND */  // zero-extended
  /* verilator lint_off WIDTHTRUNC */ assign present = (9'b1 << vectors[3:0]) - 1'b1; /* verilator lint_on WIDTHTRUNC */  // the value fits
  assign need    = rest == 0 ? {WIDTH / 8{1'b1}} : ~({WIDTH / 8{1'b1}} << rest);
  assign status  = !whole ? device_pkg::BAD_LENGTH
      : data[7:2] != 0 || !built ? device_pkg::UNKNOWN_FUNCTION
      : data[31:16] != 0 || vectors == 0 || vectors > 8 ? device_pkg::BAD_LENGTH
      : vectors > INPUTS ? device_pkg::UNKNOWN_FUNCTION
      : count > (half ? MOST * (WIDTH / 16) : MOST * (WIDTH / 32)) ? device_pkg::OUT_OF_BOUNDS : device_pkg::OK;
endmodule
