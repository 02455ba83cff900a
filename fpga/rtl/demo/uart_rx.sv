// SPDX-License-Identifier: Apache-2.0
// Bytes from a serial line: 8 data bits, no parity, one stop bit; a byte with a bad stop bit is dropped.
module uart_rx #(
    // Cycles of a bit, 4 or more.
    parameter DIVISOR = 25
) (
    input  wire       clk,
    input  wire       rst,
    input  wire       rx,
    output reg  [7:0] data,
    output reg        valid
);
  if (DIVISOR < 4) begin : wrong_DIVISOR uart_rx_needs_DIVISOR_of_4_or_more refused (); end

  localparam BITS = $clog2(DIVISOR + DIVISOR / 2);

  wire line;
  synchroniser settle (
      .clk(clk),
      .in (rx),
      .out(line)
  );
  reg previous;  // the line a cycle ago
  reg [BITS-1:0] left;
  reg [3:0] place;  // 0 idle, 1 start bit, 2 to 9 data, 10 stop bit

  always @(posedge clk) begin
    previous <= line;
    valid    <= 1'b0;
    if (place == 0) begin
      if (previous && !line) begin
        place <= 1;
        left  <= DIVISOR / 2 - 1;
      end
    end else if (left != 0) left <= left - 1'b1;
    else begin
      left  <= DIVISOR - 1;
      place <= place == 10 ? 4'd0 : place + 1'b1;
      if (place == 1 && line) place <= 0;  // a glitch
      if (place >= 2 && place <= 9) data <= {line, data[7:1]};
      if (place == 10) valid <= line;
    end
    if (rst) begin
      place    <= 0;
      previous <= 1'b0;
      valid    <= 1'b0;
    end
  end
endmodule
