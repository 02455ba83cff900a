// SPDX-License-Identifier: Apache-2.0
// A register in both directions of a valid/ready stream: no combinational path from one side to the other, one beat a
// cycle, latency 1.
module skid_buffer #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 8
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output wire             in_ready,
    output reg  [WIDTH-1:0] out_data,
    output reg              out_valid,
    input  wire             out_ready
);
  if (WIDTH < 1) begin : wrong_WIDTH skid_buffer_needs_WIDTH_of_1_or_more refused (); end

  reg [WIDTH-1:0] held;
  reg             full;  // a beat came while the output was blocked

  assign in_ready = !full;

  always @(posedge clk) begin
    if (in_valid && in_ready) held <= in_data;
    if (out_ready || !out_valid) out_data <= full ? held : in_data;
    if (rst) begin
      full      <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      full <= out_valid && !out_ready && (full || in_valid);
      if (out_ready || !out_valid) out_valid <= full || in_valid;
    end
  end
endmodule
