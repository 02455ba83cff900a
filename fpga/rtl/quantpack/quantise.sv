// SPDX-License-Identifier: Apache-2.0
// Rows of binary32 as packed codes, rounded stochastically (model: offramp.sylvie.model); a beat of values a cycle.
//
// A request is a header (see row_packets), then for each WIDTH/64 rows a beat of their numbers (64 bits each) and the
// rows. The answer has for each as many rows their codes, each row from a beat of its own, and a beat of their bounds
// (least, greatest; binary32), then a completion. A row that cannot be quantised has codes 0 and bounds NaN, and the
// request completes with FAILED.
`include "axi.svh"
module quantise #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH = 512,
    // Beats of a row that fit, a power of two, 64 or more for a beat a cycle.
    parameter DEPTH = 512
) (
    input  wire clk,
    input  wire rst,
    input  wire cancel,
    output wire idle,
    output wire ended,   // a request, well
    output wire faulty,  // or not
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH)
);
  localparam LANES = WIDTH / 32;
  localparam JOBS = 64;
  localparam LATENCY = 25;  // from a slot to what it makes

  wire put, first, last, compact, slot_end, row_ends, row_ready, wrong;
  wire [5:0] in_lanes, lanes;
  wire [1:0] in_size, size;
  wire [63:0] seed, number;
  wire [15:0] beat;
  wire [4:0] in_line;
  wire [103:0] completion;
  /* verilator lint_off UNUSEDSIGNAL */ wire [LATENCY-1:0] rows_on, bounds_on, ends_on; /* verilator lint_on UNUSEDSIGNAL */  // the last bits
  wire [WIDTH-1:0] data;
  wire [WIDTH-1:0] stored;  // 3
  wire [WIDTH-1:0] line;  // 25
  reg [WIDTH-1:0] bounds;  // 25
  reg [103:0] told;  // 25
  row_requests #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .PACKED(0),
      .LATENCY(LATENCY),
      .JOBS(JOBS)
  ) requests (
      .*,
      .word(number),
      /* verilator lint_off WIDTHEXPAND */ .answer(ends_on[LATENCY-1] ? {told[103:8], 24'b0, told[7:0]} : bounds_on[LATENCY-1] ? bounds : line), /* verilator lint_on WIDTHEXPAND */  // zero-extended
      .status(told[7:0])
  );

  wire [31:0] least, greatest, inverse;
  wire [63:0] key;
  quantise_rows #(
      .LANES(LANES),
      .ROWS (JOBS)
  ) rows (
      .*,
      .lanes(in_lanes),
      .size(in_size),
      .ready(row_ready),
      .take(row_ends)
  );

  // Values that travel with a slot to where they are needed.
  wire [31:0] least_3, inverse_10;
  wire [32*LANES-1:0] fractions;  // 16
  wire [1:0] size_23, size_24;
  wire [5:0] lanes_24;
  wire [4:0] place_24;
  wire wrong_24, row_ends_24;
  wire [103:0] told_24;  // a row's bounds, or a completion
  delay #(
      .WIDTH (32),
      .CYCLES(3)
  ) leasts (
      .clk(clk),
      .in (least),
      .out(least_3)
  );
  delay #(
      .WIDTH (32),
      .CYCLES(10)
  ) inverses (
      .clk(clk),
      .in (inverse),
      .out(inverse_10)
  );
  wire [63:0] key_2;
  wire [15:0] beat_2;
  delay #(
      .WIDTH (80),
      .CYCLES(2)
  ) draws (
      .clk(clk),
      .in ({key, beat}),
      .out({key_2, beat_2})
  );
  rounding #(
      .LANES(LANES)
  ) dice (
      .*,
      .key(key_2),
      .beat(beat_2)
  );
  delay #(
      .WIDTH (2),
      .CYCLES(23)
  ) sizes (
      .clk(clk),
      .in (size),
      .out(size_23)
  );
  delay #(
      .WIDTH (119),
      .CYCLES(24)
  ) tags (
      .clk(clk),
      .in ({size, lanes, in_line, wrong, row_ends, slot_end ? completion : {40'b0, greatest, least}}),
      .out({size_24, lanes_24, place_24, wrong_24, row_ends_24, told_24})
  );

  wire [7:0] top_23;
  highest_code tops (
      .size (size_23),
      .code (top_23),
      /* verilator lint_off PINCONNECTEMPTY */ .value() /* verilator lint_on PINCONNECTEMPTY */  // not needed here
  );
  wire [8*LANES-1:0] codes;  // 24
  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : values
      wire [7:0] code;
      quantise_lane lane (
          .*,
          .x(stored[32*n+:32]),
          .least(least_3),
          .inverse(inverse_10),
          .fraction(fractions[32*n+:32]),
          .top(top_23)
      );
      assign codes[8*n+:8] = wrong_24 || n >= lanes_24 ? 8'b0 : code;
    end
  endgenerate

  code_pack #(
      .LANES(LANES)
  ) pack (
      .*,
      .put(rows_on[LATENCY-2]),
      .size(size_24),
      .place(place_24)
  );

  // Bounds of the group's rows, the first in the lowest bits.
  reg [$clog2(WIDTH/64)-1:0] member;
  always @(posedge clk) begin
    told <= told_24;
    if (rows_on[LATENCY-2] && row_ends_24) begin
      /* verilator lint_off WIDTHEXPAND */ if (member == 0) bounds <= told_24[63:0]; /* verilator lint_on WIDTHEXPAND */  // zero-extended
      else bounds[64*member+:64] <= told_24[63:0];
    end
    if (rst || bounds_on[LATENCY-2] || ends_on[LATENCY-2]) member <= 0;
    else if (rows_on[LATENCY-2] && row_ends_24) member <= member + 1'b1;
  end
endmodule
