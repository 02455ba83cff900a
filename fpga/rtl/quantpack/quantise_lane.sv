// SPDX-License-Identifier: Apache-2.0
// A value's code: (x - least) * inverse + fraction, cut off, at most `top`; a code a cycle, latency 21.
module quantise_lane (
    input  wire        clk,
    input  wire [31:0] x,
    input  wire [31:0] least,
    input  wire [31:0] inverse,   // 7 cycles later
    input  wire [31:0] fraction,  // 13 cycles later
    input  wire [ 7:0] top,       // 20 cycles later
    output reg  [ 7:0] code
);
  /* verilator lint_off UNUSEDSIGNAL */ wire [31:0] above, product, scaled; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  fp32_add difference (
      .clk(clk),
      .a  (x),
      .b  ({!least[31], least[30:0]}),
      .sum(above)
  );
  fp32_mul scaling (
      .*,
      .a(above),
      .b(inverse)
  );
  fp32_add rounded (
      .clk(clk),
      .a  (product),
      .b  (fraction),
      .sum(scaled)
  );

  wire [7:0] exponent = scaled[30:23];
  wire [7:0] whole = exponent < 127 ? 8'd0 : {1'b1, scaled[22:16]} >> (8'd134 - exponent);
  always @(posedge clk) code <= exponent > 134 || whole > top ? top : whole;
endmodule
