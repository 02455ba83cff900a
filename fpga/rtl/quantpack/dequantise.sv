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
  localparam LATENCY = 17;  // from a slot to what it makes

  wire put, last, row_ends, row_ready;
  wire [1:0] in_size, size;
  wire [5:0] lanes;
  wire [63:0] limits;
  wire [4:0] in_line;
  wire [103:0] completion, completion_17;
  wire [WIDTH-1:0] stored;  // 1
  wire [WIDTH-1:0] values;  // 17
  /* verilator lint_off UNUSEDSIGNAL */ wire [LATENCY-1:0] rows_on, ends_on; /* verilator lint_on UNUSEDSIGNAL */  // the first and the last bit
  row_requests #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .PACKED(1),
      .LATENCY(LATENCY),
      .JOBS(JOBS)
  ) requests (
      .*,
      /* verilator lint_off PINCONNECTEMPTY */  // codes need no random numbers, and have their bounds before them
      .first(),
      .data(),
      .in_lanes(),
      .compact(),
      .seed(),
      .slot_end(),
      .beat(),
      .bounds_on(),
      /* verilator lint_on PINCONNECTEMPTY */
      .word(limits),
      .wrong(1'b0),
      /* verilator lint_off WIDTHEXPAND */ .answer(ends_on[LATENCY-1] ? {completion_17[103:8], 24'b0, completion_17[7:0]} : values), /* verilator lint_on WIDTHEXPAND */  // zero-extended
      .status(completion_17[7:0])
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

  reg begins_1;
  reg [1:0] size_1;
  always @(posedge clk) begin
    begins_1 <= in_line == 0;
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
endmodule
