// SPDX-License-Identifier: Apache-2.0
// One's complement sum of 16-bit words in network order, folded once into 17 bits (RFC 1071).
module sum_words #(
    // Words, 1 to 64.
    parameter WORDS = 8
) (
    input  wire [WORDS*16-1:0] data,  // byte 0 lowest
    output reg  [        21:0] sum
);
  if (WORDS < 1 || WORDS > 64) begin : wrong_WORDS sum_words_needs_WORDS_from_1_to_64 refused (); end

  integer i;
  always @* begin
    sum = 0;
    for (i = 0; i < WORDS; i = i + 1) sum = sum + {6'b0, data[i*16+:8], data[i*16+8+:8]};
  end
endmodule
