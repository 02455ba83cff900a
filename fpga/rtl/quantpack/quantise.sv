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
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,
    output wire               idle,
    output wire               ended,        // a request, well
    output wire               faulty,       // or not
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH)
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH quantise_needs_DEPTH_a_power_of_two_2_or_more refused (); end

  localparam LANES = WIDTH / 32;
  localparam JOBS = 64;
  localparam STORE = DEPTH < 64 ? 128 : 2 * DEPTH;
  localparam LATENCY = 25;  // from a slot to what it makes

  // Input.
  wire put, first, last, drop, compact, job_valid, job_end, taking_idle, store_room, job_room;
  wire [WIDTH-1:0] data;
  wire [5:0] in_lanes;
  wire [1:0] in_size;
  wire [63:0] seed, number;
  wire [103:0] job;
  row_packets #(
      .WIDTH (WIDTH),
      .MOST  (DEPTH * LANES),
      .PACKED(0)
  ) packets (
      .*,
      .room(store_room && job_room),
      .idle(taking_idle),
      .lanes(in_lanes),
      .size(in_size),
      .word(number)
  );

  wire read;
  wire [WIDTH-1:0] stored;  // 3
  row_store #(
      .WIDTH(WIDTH),
      .DEPTH(STORE)
  ) store (
      .*,
      .in_data(data),
      .room(store_room),
      .take(read),
      .out_data(stored)
  );

  wire row_ends, row_ready, wrong;
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

  // Slots: a beat of a row, bounds of a group, a packet's end.
  wire place, slot_row, slot_bounds, slot_end, none_left;
  wire [15:0] beat;
  wire [1:0] size;
  wire [5:0] lanes;
  wire [103:0] completion;
  row_jobs #(
      .DEPTH (JOBS),
      .GROUPS(1)
  ) jobs (
      .*,
      .put(job_valid),
      .put_end(job_end),
      .put_job(job),
      .room(job_room),
      .empty(none_left),
      .ready(row_ready)
  );
  wire [4:0] in_line = beat[4:0] & (5'd31 >> size);
  wire line_ends = slot_row && (row_ends || in_line == 5'd31 >> size);

  reg [LATENCY-1:0] rows_on, lines_on, bounds_on, ends_on;  // slots on their way
  always @(posedge clk) begin
    /* verilator lint_off WIDTHTRUNC */ rows_on   <= rst ? 0 : {rows_on, slot_row}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    /* verilator lint_off WIDTHTRUNC */ lines_on  <= rst ? 0 : {lines_on, line_ends}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    /* verilator lint_off WIDTHTRUNC */ bounds_on <= rst ? 0 : {bounds_on, slot_bounds}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    /* verilator lint_off WIDTHTRUNC */ ends_on   <= rst ? 0 : {ends_on, slot_end}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
  end
  assign read = rows_on[1];

  // Values that travel with a slot to where they are needed.
  wire [31:0] least_3, inverse_10;
  wire [32*LANES-1:0] fractions;  // 16
  wire [1:0] size_23, size_24;
  wire [5:0] lanes_24;
  wire [4:0] place_24;
  wire wrong_24, row_ends_24;
  wire [103:0] outcome_24;  // a row's bounds, or a completion
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
      .out({size_24, lanes_24, place_24, wrong_24, row_ends_24, outcome_24})
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

  wire [WIDTH-1:0] line;  // 25
  code_pack #(
      .LANES(LANES)
  ) pack (
      .*,
      .put(rows_on[LATENCY-2]),
      .size(size_24),
      .place(place_24)
  );

  // Bounds of the group's rows, the first in the lowest bits.
  reg [WIDTH-1:0] bounds;
  reg [$clog2(WIDTH/64)-1:0] member;
  reg [103:0] outcome;
  always @(posedge clk) begin
    outcome <= outcome_24;
    if (rows_on[LATENCY-2] && row_ends_24) begin
      /* verilator lint_off WIDTHEXPAND */ if (member == 0) bounds <= outcome_24[63:0]; /* verilator lint_on WIDTHEXPAND */  // zero-extended
      else bounds[64*member+:64] <= outcome_24[63:0];
    end
    if (rst || bounds_on[LATENCY-2] || ends_on[LATENCY-2]) member <= 0;
    else if (rows_on[LATENCY-2] && row_ends_24) member <= member + 1'b1;
  end

  wire ending = ends_on[LATENCY-1];
  answers #(
      .WIDTH(WIDTH)
  ) queue (
      .*,
      .reserve(line_ends || slot_bounds || slot_end),
      .put(lines_on[LATENCY-1] || bounds_on[LATENCY-1] || ending),
      /* verilator lint_off WIDTHEXPAND */ .data(ending ? {outcome[103:8], 24'b0, outcome[7:0]} : bounds_on[LATENCY-1] ? bounds : line), /* verilator lint_on WIDTHEXPAND */  // zero-extended
      .last(ending)
  );
  assign ended  = ending && outcome[7:0] == device_pkg::OK;
  assign faulty = ending && outcome[7:0] != device_pkg::OK;
  assign idle   = taking_idle && none_left && rows_on == 0 && bounds_on == 0 && ends_on == 0 && !m_axis_tvalid;
endmodule
