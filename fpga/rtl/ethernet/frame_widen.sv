// SPDX-License-Identifier: Apache-2.0
// Four beats of a frame as one of 64 bytes, zeros behind the last byte; short frames are filled up with them.
module frame_widen #(
    // Bytes of the shortest frame that leaves, without its check sequence, 1 to 64.
    parameter LEAST = 60
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,  // bytes of the beat - 1, 15 but in the last
    input  wire         in_last,
    input  wire         in_valid,
    output wire         in_ready,
    output reg  [511:0] out_data,
    output reg  [  5:0] out_count,
    output reg          out_last,
    output reg          out_valid,
    input  wire         out_ready
);
  if (LEAST < 1 || LEAST > 64) begin : wrong_LEAST frame_widen_needs_LEAST_from_1_to_64 refused (); end

  localparam [5:0] SHORTEST = LEAST - 1;

  reg [1:0] part;
  reg later;  // a beat of this frame has left
  wire [5:0] count = {part, in_count};
  wire taken = in_valid && in_ready;
  assign in_ready = !out_valid || out_ready;

  wire [15:0] here = ~(16'hFFFE << in_count);
  wire [127:0] there;
  genvar g;
  generate
    for (g = 0; g < 16; g = g + 1) begin : bytes
      assign there[g*8+:8] = here[g] ? in_data[g*8+:8] : 8'h00;
    end
  endgenerate

  integer i;
  always @(posedge clk) begin
    if (taken) begin
      for (i = 0; i < 4; i = i + 1) begin
        if (part == i[1:0]) out_data[i*128+:128] <= there;
        else if (part == 2'd0) out_data[i*128+:128] <= 128'b0;
      end
      out_count <= !later && count < SHORTEST ? SHORTEST : count;
      out_last  <= in_last;
    end
    if (rst) begin
      part      <= 2'd0;
      later     <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (taken) part <= in_last ? 2'd0 : part + 1'b1;
      if (taken && (in_last || part == 2'd3)) later <= !in_last;
      if (in_ready) out_valid <= taken && (in_last || part == 2'd3);
    end
  end
endmodule
