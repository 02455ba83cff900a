// SPDX-License-Identifier: Apache-2.0
// Bytes to a serial line: 8 data bits, no parity, one stop bit.
module uart_tx #(
    // Cycles of a bit, 2 or more.
    parameter DIVISOR = 25
) (
    input  wire       clk,
    input  wire       rst,
    input  wire [7:0] data,
    input  wire       valid,
    output wire       ready,
    output wire       tx
);
  if (DIVISOR < 2) begin : wrong_DIVISOR uart_tx_needs_DIVISOR_of_2_or_more refused (); end

  reg [9:0] shift;  // what is on the line comes lowest
  reg [3:0] bits;
  reg [$clog2(DIVISOR)-1:0] left;

  assign ready = bits == 0;
  assign tx = shift[0] || bits == 0;

  always @(posedge clk) begin
    if (bits == 0) begin
      left <= DIVISOR - 1;
      if (valid) begin
        shift <= {1'b1, data, 1'b0};
        bits  <= 10;
      end
    end else if (left != 0) left <= left - 1'b1;
    else begin
      left  <= DIVISOR - 1;
      shift <= {1'b1, shift[9:1]};
      bits  <= bits - 1'b1;
    end
    if (rst) bits <= 0;
  end
endmodule
