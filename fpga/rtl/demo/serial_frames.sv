// SPDX-License-Identifier: Apache-2.0
// Frames of 17 bytes on a serial line: a tag, then 16 bytes. Tag in: bits 1:0 where to, bit 2 last beat, bits 7:4 bytes - 1.
// Tag out: bits 1:0 where from, bit 2 last beat.
module serial_frames #(
    // Cycles of a bit.
    parameter DIVISOR = 25
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         rx,
    output wire         tx,
    output wire [  7:0] in_tag,
    output wire [127:0] in_data,
    output wire         in_valid,
    input  wire         in_ready,
    input  wire [  7:0] out_tag,
    input  wire [127:0] out_data,
    input  wire         out_valid,
    output wire         out_ready
);
  wire [7:0] byte_in;
  wire byte_came;
  uart_rx #(
      .DIVISOR(DIVISOR)
  ) receiver (
      .*,
      .data(byte_in),
      .valid(byte_came)
  );

  // Bytes come in from above, so that after 17 of them the tag is the lowest.
  reg [135:0] coming;
  reg [4:0] came;
  reg whole;
  always @(posedge clk) begin
    if (byte_came) coming <= {byte_in, coming[135:8]};
    whole <= !rst && byte_came && came == 16;
    if (rst) came <= 0;
    else if (byte_came) came <= came == 16 ? 5'd0 : came + 1'b1;
  end

  fifo #(
      .WIDTH(136),
      .DEPTH(16)
  ) arrived (
      .*,
      .in_data(coming),
      .in_valid(whole),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data({in_data, in_tag}),
      .out_valid(in_valid),
      .out_ready(in_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  reg [135:0] going;
  reg [4:0] left;
  wire byte_ready;
  assign out_ready = left == 0;
  always @(posedge clk) begin
    if (out_valid && out_ready) going <= {out_data, out_tag};
    else if (left != 0 && byte_ready) going <= going >> 8;
    if (rst) left <= 0;
    else if (out_valid && out_ready) left <= 17;
    else if (left != 0 && byte_ready) left <= left - 1'b1;
  end

  uart_tx #(
      .DIVISOR(DIVISOR)
  ) sender (
      .*,
      .data(going[7:0]),
      .valid(left != 0),
      .ready(byte_ready)
  );
endmodule
