// SPDX-License-Identifier: Apache-2.0
// Ethernet's CRC-32 (IEEE 802.3, 3.2.9) a byte further, lowest bit first. It starts as all ones; a frame's check sequence
// is its complement, lowest byte first; after a whole frame and its check sequence it is 32'hDEBB20E3.
module crc32_byte (
    input  wire [31:0] crc,
    input  wire [ 7:0] data,
    output reg  [31:0] next
);
  integer i;
  always @* begin
    next = crc ^ {24'b0, data};
    for (i = 0; i < 8; i = i + 1) next = (next >> 1) ^ (next[0] ? 32'hEDB88320 : 32'b0);
  end
endmodule
