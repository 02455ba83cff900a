// SPDX-License-Identifier: Apache-2.0
// Least and greatest code point of each row as its beats go by (model: offramp.sylvie.model.bounds); a beat a
// cycle, latency 11 + log2(LANES) from a row's last beat.
module row_bounds #(
    // Values of a beat, a power of two, 2 to 32.
    parameter LANES = 16
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                put,
    input  wire                first,
    input  wire                last,
    input  wire [32*LANES-1:0] data,
    input  wire [         5:0] lanes,      // values in the row's last beat
    input  wire                compact,    // bounds are bfloat16 values that enclose the row
    input  wire [         1:0] size,
    output reg                 valid,
    output reg  [        31:0] least,
    output reg  [        31:0] greatest,
    output reg  [        31:0] span,       // of a row that is not flat
    output reg                 flat,       // counts as constant
    output reg                 wrong,      // NaN, infinity, or a range beyond binary32
    output wire [         1:0] out_size
);
  if (LANES < 2 || LANES > 32 || (LANES & (LANES - 1)) != 0) begin : wrong_LANES row_bounds_needs_LANES_a_power_of_two_2_to_32 refused (); end

  localparam LEVELS = $clog2(LANES);
  localparam LATENCY = LEVELS + 11;
  localparam [31:0] LEAST_RANGE = 32'h0D800000;  // 2^-100

  // In the order of binary32: negative numbers with all bits inverted, -0 below +0.
  function [31:0] key_of(input [31:0] x);
    key_of = x[31] ? ~x : {1'b1, x[30:0]};
  endfunction
  /* verilator lint_off VARHIDDEN */ function [31:0] value_of(input [31:0] key); /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
    value_of = key == 32'h7FFFFFFF ? 32'b0 : key[31] ? {1'b0, key[30:0]} : ~key;  // no negative zero
  endfunction
  // The next bfloat16 value that is not above.
  function [31:0] down(input [31:0] x);
    down = {x[31:16] + (x[31] && x[15:0] != 0), 16'b0};
  endfunction

  reg [LATENCY-2:0] moving;  // rows' ends
  always @(posedge clk) begin
    /* verilator lint_off WIDTHTRUNC */ moving <= rst ? 0 : {moving, put && last}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    valid  <= !rst && moving[LATENCY-2];
  end
  /* verilator lint_off UNUSEDSIGNAL */ wire put_late, first_late, last_late, compact_late; /* verilator lint_on UNUSEDSIGNAL */  // unused with some parameters
  delay #(
      .WIDTH (3),
      .CYCLES(LEVELS + 1)
  ) tags (
      .clk(clk),
      .in ({put, first, last}),
      .out({put_late, first_late, last_late})
  );
  delay #(
      .WIDTH (1),
      .CYCLES(LEVELS + 2)
  ) kinds (
      .clk(clk),
      .in (compact),
      .out(compact_late)
  );
  delay #(
      .WIDTH (2),
      .CYCLES(LATENCY)
  ) sizes (
      .clk(clk),
      .in (size),
      .out(out_size)
  );

  // A tree of pairs: 1 to LANES-1 are its nodes, LANES and on what goes in, absent values as those that change nothing.
  /* verilator lint_off UNUSEDSIGNAL */ wire [32*2*LANES-1:0] low, high; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  reg [LANES-1:0] finite;
  wire finite_late;
  genvar n;
  generate
    for (n = 0; n < LANES; n = n + 1) begin : values
      wire [31:0] x = data[32*n+:32];
      wire absent = last && n >= lanes;
      reg [31:0] lower, upper;
      always @(posedge clk) begin
        lower <= absent ? 32'hFFFFFFFF : key_of(x);
        upper <= absent ? 32'h00000000 : key_of(x);
        finite[n] <= absent || !(&x[30:23]);
      end
      assign low[32*(LANES+n)+:32]  = lower;
      assign high[32*(LANES+n)+:32] = upper;
    end
    for (n = 1; n < LANES; n = n + 1) begin : nodes
      reg [31:0] lower, upper;
      always @(posedge clk) begin
        lower <= low[64*n+:32] < low[64*n+32+:32] ? low[64*n+:32] : low[64*n+32+:32];
        upper <= high[64*n+:32] < high[64*n+32+:32] ? high[64*n+32+:32] : high[64*n+:32];
      end
      assign low[32*n+:32]  = lower;
      assign high[32*n+:32] = upper;
    end
  endgenerate
  assign low[31:0] = 0;
  assign high[31:0] = 0;
  delay #(
      .WIDTH (1),
      .CYCLES(LEVELS)
  ) numbers (
      .clk(clk),
      .in (&finite),
      .out(finite_late)
  );

  // The row so far; then its bounds, and their difference.
  reg [31:0] lower, upper;
  reg all_finite;
  wire [31:0] row_least = value_of(lower), row_greatest = value_of(upper);
  wire [31:0] below = down({!row_greatest[31], row_greatest[30:0]});
  reg [31:0] from, to;
  reg from_finite;
  always @(posedge clk) begin
    if (put_late) begin
      lower <= first_late || low[63:32] < lower ? low[63:32] : lower;
      upper <= first_late || high[63:32] > upper ? high[63:32] : upper;
      all_finite <= finite_late && (first_late || all_finite);
    end
    from <= compact_late ? down(row_least) : row_least;
    to   <= compact_late ? {!below[31], below[30:0]} : row_greatest;
    from_finite <= all_finite;
  end

  wire [31:0] difference, late_from, late_to;
  wire late_finite;
  fp32_add ranges (
      .clk(clk),
      .a  (to),
      .b  ({!from[31], from[30:0]}),
      .sum(difference)
  );
  delay #(
      .WIDTH (65),
      .CYCLES(7)
  ) bounds (
      .clk(clk),
      .in ({from_finite, from, to}),
      .out({late_finite, late_from, late_to})
  );
  wire narrow = difference[30:0] < LEAST_RANGE[30:0];
  always @(posedge clk) begin
    wrong    <= !late_finite || &difference[30:23];
    flat     <= narrow;
    span     <= difference;
    least    <= late_from;
    greatest <= narrow ? late_from : late_to;
  end
endmodule
