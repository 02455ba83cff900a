// SPDX-License-Identifier: Apache-2.0
// A line_memory whose reads are of eight bytes.
module word_memory #(
    // Lines, a power of two, 2 or more.
    parameter LINES = 64
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [$clog2(LINES)-1:0] write_line,
    input  wire [            511:0] write_data,
    input  wire                     write,
    input  wire [             63:0] s_axi_araddr,
    input  wire                     s_axi_arvalid,
    output wire                     s_axi_arready,
    output wire [             63:0] s_axi_rdata,
    output wire [              1:0] s_axi_rresp,
    output wire                     s_axi_rvalid,
    input  wire                     s_axi_rready
);
  wire [511:0] line;
  reg [2:0] word;
  assign s_axi_rdata = line[word*64+:64];

  line_memory #(
      .LINES(LINES)
  ) lines (
      .*,
      .s_axi_rdata(line)
  );

  always @(posedge clk) if (s_axi_arready) word <= s_axi_araddr[5:3];
endmodule
