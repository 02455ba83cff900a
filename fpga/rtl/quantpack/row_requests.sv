// SPDX-License-Identifier: Apache-2.0
// Requests of rows from packet to answer, around a pipeline that turns values into codes or back: what `quantise` and
// `dequantise` share. It stores rows until they are whole and hands out a slot per cycle: a beat of a row, the bounds
// behind a group, a request's end. LATENCY cycles after its slot it takes what the pipeline made of it as a line of the
// answer. Nothing in the pipeline waits: a line has a place before its slot begins.
`include "axi.svh"
module row_requests #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH = 512,
    // Beats of a row's values that fit, a power of two.
    parameter DEPTH = 512,
    // 0: rows are values, and groups' bounds follow them in the answer; 1: rows are codes.
    parameter PACKED = 0,
    // Cycles from a slot to its line.
    parameter LATENCY = 25,
    // Rows and ends of requests that wait, a power of two, 8 or more.
    parameter JOBS = 64
) (
    input  wire clk,
    input  wire rst,
    input  wire cancel,
    output wire idle,
    output wire ended,   // a request, well
    output wire faulty,  // or not
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH),

    // Rows as they come (row_packets).
    output wire             put,
    output wire             first,
    output wire             last,
    output wire [WIDTH-1:0] data,
    output wire [5:0]       in_lanes,
    output wire [1:0]       in_size,
    output wire             compact,
    output wire [63:0]      seed,
    output wire [63:0]      word,

    // Slots (row_jobs).
    input  wire             row_ready,  // what the pipeline needs to know of the first row
    input  wire             wrong,      // it cannot be quantised
    output wire             slot_end,
    output wire             row_ends,
    output wire [15:0]      beat,       // of values, in the row
    output wire [4:0]       in_line,    // likewise in its line of codes
    output wire [1:0]       size,
    output wire [5:0]       lanes,
    output wire [103:0]     completion,

    // Slots in the pipeline, bit n after n + 1 cycles. The beat or line that a slot reads is there after 3 cycles, with
    // PACKED after 1; what it made is there after LATENCY cycles.
    output wire [WIDTH-1:0]   stored,
    output reg  [LATENCY-1:0] rows_on,
    output reg  [LATENCY-1:0] bounds_on,
    output reg  [LATENCY-1:0] ends_on,
    input  wire [WIDTH-1:0]   answer,  // a line, bounds, or the completion
    input  wire [7:0]         status   // which that has
);
  wire drop, job_valid, job_end, taking_idle, store_room, job_room;
  wire [103:0] job;
  row_packets #(
      .WIDTH (WIDTH),
      .MOST  (DEPTH * (WIDTH / 32)),
      .PACKED(PACKED)
  ) packets (
      .*,
      .room(store_room && job_room),
      .idle(taking_idle),
      .lanes(in_lanes),
      .size(in_size)
  );

  wire place, slot_row, slot_bounds, none_left;
  wire [4:0] end_line = 5'd31 >> size;
  assign in_line = beat[4:0] & end_line;
  wire fills = slot_row && (PACKED || row_ends || in_line == end_line);  // a line of the answer

  // Two of the longest rows, or as many as there is a use for.
  localparam ROW = PACKED ? DEPTH / 4 : DEPTH;  // codes have up to 8 bits
  row_store #(
      .WIDTH(WIDTH),
      .DEPTH(ROW < 64 ? 128 : 2 * ROW)
  ) store (
      .*,
      .in_data(data),
      .room(store_room),
      .take(PACKED ? slot_row && in_line == 0 : rows_on[1]),
      .out_data(stored)
  );

  row_jobs #(
      .DEPTH (JOBS),
      .GROUPS(!PACKED)
  ) jobs (
      .*,
      .put(job_valid),
      .put_end(job_end),
      .put_job(job),
      .room(job_room),
      .empty(none_left),
      .ready(row_ready)
  );

  wire grouped = !PACKED && slot_bounds;
  reg [LATENCY-1:0] lines_on;
  always @(posedge clk) begin
    /* verilator lint_off WIDTHTRUNC */  // the oldest bit drops out
    rows_on   <= rst ? 0 : {rows_on, slot_row};
    lines_on  <= rst ? 0 : {lines_on, fills};
    bounds_on <= rst ? 0 : {bounds_on, grouped};
    ends_on   <= rst ? 0 : {ends_on, slot_end};
    /* verilator lint_on WIDTHTRUNC */
  end

  wire ending = ends_on[LATENCY-1];
  wire good = status == device_pkg::OK;
  answers #(
      .WIDTH(WIDTH)
  ) queue (
      .*,
      .reserve(fills || grouped || slot_end),
      .put(lines_on[LATENCY-1] || bounds_on[LATENCY-1] || ending),
      .data(answer),
      .last(ending)
  );
  assign ended  = ending && good;
  assign faulty = ending && !good;
  assign idle   = taking_idle && none_left && {rows_on, bounds_on, ends_on} == 0 && !m_axis_tvalid;
endmodule
