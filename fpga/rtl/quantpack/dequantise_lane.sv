// SPDX-License-Identifier: Apache-2.0
// The value of a code: code * step + least, or `greatest` for the highest code; a value a cycle, latency 15.
module dequantise_lane (
    input  wire        clk,
    input  wire [ 7:0] code,
    input  wire [ 7:0] top,       // the highest code
    input  wire [31:0] step,      // 1 cycle later
    input  wire [31:0] least,     // 7 cycles later
    input  wire [31:0] greatest,  // 14 cycles later
    output reg  [31:0] value
);
  reg [3:0] zeros;
  integer i;
  always @* begin
    zeros = 4'd8;
    /* verilator lint_off WIDTHTRUNC */ for (i = 0; i < 8; i = i + 1) if (code[i]) zeros = 7 - i; /* verilator lint_on WIDTHTRUNC */  // the value fits
  end
  /* verilator lint_off UNUSEDSIGNAL */ wire [7:0] shifted = code << zeros; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  reg [31:0] whole;  // the code as binary32
  always @(posedge clk) whole <= code == 0 ? 32'b0 : {1'b0, 8'd134 - {4'b0, zeros}, shifted[6:0], 16'b0};

  wire [31:0] product, sum;
  fp32_mul steps (
      .*,
      .a(whole),
      .b(step)
  );
  fp32_add from_least (
      .*,
      .a  (product),
      .b  (least)
  );
  wire highest;
  delay #(
      .WIDTH (1),
      .CYCLES(14)
  ) tops (
      .clk(clk),
      .in (code == top),
      .out(highest)
  );
  always @(posedge clk) value <= highest ? greatest : sum;
endmodule
