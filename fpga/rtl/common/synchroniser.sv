// SPDX-License-Identifier: Apache-2.0
// Bits from another clock's domain, two flip-flops later. Bits that change together may arrive in different cycles: what
// passes here is one bit, or a code that changes one bit at a time.
module synchroniser #(
    // 1 or more.
    parameter WIDTH = 1
) (
    input  wire             clk,  // of the domain that the bits go to
    input  wire [WIDTH-1:0] in,   // from flip-flops
    output wire [WIDTH-1:0] out
);
  if (WIDTH < 1) begin : wrong_WIDTH synchroniser_needs_WIDTH_of_1_or_more refused (); end

  (* keep, ASYNC_REG = "TRUE" *)  // side by side, and never a shift register's
  reg [WIDTH-1:0] first, second;
  assign out = second;
  always @(posedge clk) begin
    first  <= in;
    second <= first;
  end
endmodule
