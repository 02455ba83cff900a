// SPDX-License-Identifier: Apache-2.0
// The CRC of a 64-bit key, lowest byte first, register and result inverted: one XOR tree for each bit.
module crc_key #(
    // Reflected polynomial.
    parameter [31:0] POLYNOMIAL = 32'h82F63B78
) (
    input  wire [63:0] key,
    /* verilator lint_off VARHIDDEN */ output wire [31:0] crc /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
);
  // The register after 64 bits of a key.
  function [31:0] after(input [63:0] bits, input [31:0] start);
    integer i;
    begin
      after = start;
      for (i = 0; i < 64; i = i + 1) after = (after >> 1) ^ (after[0] ^ bits[i] ? POLYNOMIAL : 32'b0);
    end
  endfunction

  // For each bit of the result, the key bits whose parity it is.
  function [32*64-1:0] columns(input dummy);
    integer i, j;
    reg [31:0] one;
    begin
      columns = {32 * 64{dummy}};
      for (i = 0; i < 64; i = i + 1) begin
        one = after(64'b1 << i, 32'b0);
        for (j = 0; j < 32; j = j + 1) columns[j*64+i] = one[j];
      end
    end
  endfunction

  localparam [32*64-1:0] COLUMNS = columns(1'b0);
  localparam [31:0] ZERO = ~after(64'b0, 32'hFFFFFFFF);

  genvar b;
  generate
    for (b = 0; b < 32; b = b + 1) begin : bits
      assign crc[b] = ^(key & COLUMNS[b*64+:64]) ^ ZERO[b];
    end
  endgenerate
endmodule
