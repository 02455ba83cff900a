// SPDX-License-Identifier: Apache-2.0
// The inverse of `quantise`: rows of binary32 from codes (model: offramp.sylvie.model.values); a beat of values a
// cycle.
//
// A request is a header (see row_packets), then for each WIDTH/64 rows a beat of their bounds (least, greatest; binary32
// each) and their codes, each row from a beat of its own. The answer has the rows, each from a beat of its own and zeros
// up to a whole one, then a completion.
`include "axi.svh"
module dequantise #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH = 512,
    // Beats of a row's values that fit, a power of two.
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
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH dequantise_needs_DEPTH_a_power_of_two_2_or_more refused (); end

  localparam LANES = WIDTH / 32;
  localparam JOBS = 64;
  localparam STORE = DEPTH < 256 ? 128 : DEPTH / 2;  // twice a row of codes of 8 bits
  localparam LATENCY = 17;  // from a slot to what it makes

  wire put, last, drop, job_valid, job_end, taking_idle, store_room, job_room;
  wire [WIDTH-1:0] data;
  wire [1:0] in_size;
  wire [63:0] limits;
  wire [103:0] job;
  row_packets #(
      .WIDTH (WIDTH),
      .MOST  (DEPTH * LANES),
      .PACKED(1)
  ) packets (
      .*,
      .room(store_room && job_room),
      .idle(taking_idle),
      /* verilator lint_off PINCONNECTEMPTY */ .first(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      /* verilator lint_off PINCONNECTEMPTY */ .lanes(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .size(in_size),
      /* verilator lint_off PINCONNECTEMPTY */ .compact(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      /* verilator lint_off PINCONNECTEMPTY */ .seed(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .word(limits)
  );

  wire read;
  wire [WIDTH-1:0] stored;  // 1
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

  // A row's inputs: its bounds and its step.
  wire [31:0] span, row_step;
  wire [1:0] late_size;
  reg [37:0] dividing;
  fp32_add spans (
      .clk(clk),
      .a  (limits[63:32]),
      .b  ({!limits[31], limits[30:0]}),
      .sum(span)
  );
  delay #(
      .WIDTH (2),
      .CYCLES(7)
  ) row_sizes (
      .clk(clk),
      .in (in_size),
      .out(late_size)
  );
  wire [31:0] row_top;
  highest_code row_tops (
      .size (late_size),
      /* verilator lint_off PINCONNECTEMPTY */ .code (), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .value(row_top)
  );
  fp32_div #(
      .DIVISOR_BITS(8)  // 1, 3, 15 or 255
  ) steps (
      .clk(clk),
      .a(span),
      .b(row_top),
      .quotient(row_step)
  );
  /* verilator lint_off WIDTHTRUNC */ always @(posedge clk) dividing <= rst ? 0 : {dividing, put && last}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out

  wire row_ends, row_ready;
  wire [31:0] least, greatest, step;
  fifo #(
      .WIDTH(64),
      .DEPTH(JOBS)
  ) limits_queue (
      .*,
      .in_data(limits),
      .in_valid(put && last),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({greatest, least}),
      /* verilator lint_off PINCONNECTEMPTY */ .out_valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .out_ready(row_ends),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  fifo #(
      .WIDTH(32),
      .DEPTH(JOBS)
  ) step_queue (
      .*,
      .in_data(row_step),
      .in_valid(dividing[37]),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(step),
      .out_valid(row_ready),
      .out_ready(row_ends),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  // Slots: a beat of a row, a packet's end.
  wire place, slot_row, slot_end, none_left;
  /* verilator lint_off UNUSEDSIGNAL */ wire [15:0] beat; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  wire [1:0] size;
  wire [5:0] lanes;
  wire [103:0] completion;
  row_jobs #(
      .DEPTH (JOBS),
      .GROUPS(0)
  ) jobs (
      .*,
      .put(job_valid),
      .put_end(job_end),
      .put_job(job),
      .room(job_room),
      .empty(none_left),
      .ready(row_ready),
      .wrong(1'b0),
      /* verilator lint_off PINCONNECTEMPTY */ .slot_bounds() /* verilator lint_on PINCONNECTEMPTY */  // not needed here
  );
  wire line_begins = (beat[4:0] & (5'd31 >> size)) == 0;
  assign read = slot_row && line_begins;

  reg [LATENCY-1:0] rows_on, ends_on;  // slots on their way
  reg begins_1;
  reg [1:0] size_1;
  always @(posedge clk) begin
    /* verilator lint_off WIDTHTRUNC */ rows_on  <= rst ? 0 : {rows_on, slot_row}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    /* verilator lint_off WIDTHTRUNC */ ends_on  <= rst ? 0 : {ends_on, slot_end}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    begins_1 <= line_begins;
    size_1   <= size;
  end
  wire [8*LANES-1:0] codes;  // 2
  code_unpack #(
      .LANES(LANES)
  ) unpack (
      .*,
      .take(rows_on[0]),
      .size(size_1),
      .begins(begins_1),
      .line(stored)
  );

  // Values that travel with a slot to where they are needed.
  wire [7:0] top_1;
  reg [7:0] top_2;
  wire [31:0] step_3, least_9, greatest_16;
  wire [5:0] lanes_17;
  wire [103:0] completion_17;
  highest_code tops (
      .size (size_1),
      .code (top_1),
      /* verilator lint_off PINCONNECTEMPTY */ .value() /* verilator lint_on PINCONNECTEMPTY */  // not needed here
  );
  always @(posedge clk) top_2 <= top_1;
  delay #(
      .WIDTH (32),
      .CYCLES(3)
  ) late_steps (
      .clk(clk),
      .in (step),
      .out(step_3)
  );
  delay #(
      .WIDTH (32),
      .CYCLES(9)
  ) leasts (
      .clk(clk),
      .in (least),
      .out(least_9)
  );
  delay #(
      .WIDTH (32),
      .CYCLES(16)
  ) greatests (
      .clk(clk),
      .in (greatest),
      .out(greatest_16)
  );
  delay #(
      .WIDTH (110),
      .CYCLES(LATENCY)
  ) tags (
      .clk(clk),
      .in ({lanes, completion}),
      .out({lanes_17, completion_17})
  );

  wire [WIDTH-1:0] values;  // 17
  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : lines
      wire [31:0] value;
      dequantise_lane lane (
          .*,
          .code(codes[8*n+:8]),
          .top(top_2),
          .step(step_3),
          .least(least_9),
          .greatest(greatest_16)
      );
      assign values[32*n+:32] = n >= lanes_17 ? 32'b0 : value;
    end
  endgenerate

  wire ending = ends_on[LATENCY-1];
  answers #(
      .WIDTH(WIDTH)
  ) queue (
      .*,
      .reserve(slot_row || slot_end),
      .put(rows_on[LATENCY-1] || ending),
      /* verilator lint_off WIDTHEXPAND */ .data(ending ? {completion_17[103:8], 24'b0, completion_17[7:0]} : values), /* verilator lint_on WIDTHEXPAND */  // zero-extended
      .last(ending)
  );
  assign ended  = ending && completion_17[7:0] == device_pkg::OK;
  assign faulty = ending && completion_17[7:0] != device_pkg::OK;
  assign idle   = taking_idle && none_left && rows_on == 0 && ends_on == 0 && !m_axis_tvalid;
endmodule
