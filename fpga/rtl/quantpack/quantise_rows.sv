// SPDX-License-Identifier: Apache-2.0
// Inputs of a row's codes: bounds, inverse of the step, keys of its random numbers; a beat a
// cycle. Rows queue here until they are taken; `ready` is said of the first.
module quantise_rows #(
    // Values of a beat, a power of two, 2 to 32.
    parameter LANES = 16,
    // Rows between their last beat and being taken, a power of two.
    parameter ROWS  = 64
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                put,
    input  wire                first,
    input  wire                last,
    input  wire [32*LANES-1:0] data,
    input  wire [         5:0] lanes,     // values in the row's last beat
    input  wire [         1:0] size,      // a code has 1 << size bits
    input  wire                compact,
    input  wire [        63:0] seed,
    input  wire [        63:0] number,    // of the row
    output wire                ready,
    output wire [        31:0] least,
    output wire [        31:0] greatest,
    output wire                wrong,
    output wire [        31:0] inverse,   // of the step
    output wire [        63:0] key,
    input  wire                take
);
  localparam [31:0] NAN = 32'h7FC00000;
  localparam [31:0] NUDGE = 32'h3F800002;  // 1 + 2^-22

  wire bounded, flat, row_wrong;
  wire [31:0] row_least, row_greatest, row_span;
  wire [1:0] row_size;
  row_bounds #(
      .LANES(LANES)
  ) measure (
      .*,
      .valid(bounded),
      .least(row_least),
      .greatest(row_greatest),
      .span(row_span),
      .wrong(row_wrong),
      .out_size(row_size)
  );

  wire [63:0] row_keys;
  reg [14:0] keying;
  row_key keys (
      .*,
      .row (number),
      .key (row_keys)
  );

  wire [31:0] ratio, nudged;
  wire late_flat;
  reg [36:0] dividing;
  wire [31:0] top;
  highest_code tops (
      .size (row_size),
      /* verilator lint_off PINCONNECTEMPTY */ .code (), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .value(top)
  );
  fp32_div ratios (
      .clk(clk),
      .a(top),
      .b(row_span),
      .quotient(ratio)
  );
  fp32_mul nudges (
      .clk(clk),
      .a(ratio),
      .b(NUDGE),
      .product(nudged)
  );
  delay #(
      .WIDTH (1),
      .CYCLES(37)
  ) flats (
      .clk(clk),
      .in (flat),
      .out(late_flat)
  );
  always @(posedge clk) begin
    /* verilator lint_off WIDTHTRUNC */ keying   <= rst ? 0 : {keying, put && last}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
    /* verilator lint_off WIDTHTRUNC */ dividing <= rst ? 0 : {dividing, bounded}; /* verilator lint_on WIDTHTRUNC */  // the oldest bit drops out
  end

  wire bounds_ready, key_ready;  // earlier than the inverse
  fifo #(
      .WIDTH(65),
      .DEPTH(ROWS)
  ) bounds_queue (
      .*,
      .in_data({row_wrong, row_wrong ? {NAN, NAN} : {row_greatest, row_least}}),
      .in_valid(bounded),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({wrong, greatest, least}),
      .out_valid(bounds_ready),
      .out_ready(take),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  fifo #(
      .WIDTH(64),
      .DEPTH(ROWS)
  ) key_queue (
      .*,
      .in_data(row_keys),
      .in_valid(keying[14]),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(key),
      .out_valid(key_ready),
      .out_ready(take),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  fifo #(
      .WIDTH(32),
      .DEPTH(ROWS)
  ) inverse_queue (
      .*,
      .in_data(late_flat ? 32'b0 : nudged),
      .in_valid(dividing[36]),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(inverse),
      .out_valid(ready),
      .out_ready(take),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!ready || (bounds_ready && key_ready));
`endif
endmodule
