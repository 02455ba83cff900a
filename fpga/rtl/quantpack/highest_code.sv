// SPDX-License-Identifier: Apache-2.0
// The highest code of 1, 2, 4 or 8 bits, as an integer and as binary32.
module highest_code (
    input  wire [ 1:0] size,  // a code has 1 << size bits
    output wire [ 7:0] code,
    output wire [31:0] value
);
  assign code  = ~(8'hFE << ((4'd1 << size) - 4'd1));
  assign value = size == 0 ? 32'h3F800000 : size == 1 ? 32'h40400000 : size == 2 ? 32'h41700000 : 32'h437F0000;
endmodule
