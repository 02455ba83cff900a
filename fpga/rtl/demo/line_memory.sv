// SPDX-License-Identifier: Apache-2.0
// Lines of 64 bytes on the chip with an AXI4 read port; a line a cycle but while one is written, latency 2. Reads
// outside are answered with DECERR.
module line_memory #(
    // Lines, a power of two, 2 or more.
    parameter LINES = 64
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [$clog2(LINES)-1:0] write_line,
    input  wire [            511:0] write_data,
    input  wire                     write,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [             63:0] s_axi_araddr, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    input  wire                     s_axi_arvalid,
    output wire                     s_axi_arready,
    output reg  [            511:0] s_axi_rdata,
    output reg  [              1:0] s_axi_rresp,
    output reg                      s_axi_rvalid,
    input  wire                     s_axi_rready
);
  if (LINES < 2 || (LINES & (LINES - 1)) != 0) begin : wrong_LINES line_memory_needs_LINES_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(LINES);

  (* no_rw_check *)
  reg [511:0] memory[0:LINES-1];

  assign s_axi_arready = (!s_axi_rvalid || s_axi_rready) && !write;
  wire [BITS-1:0] line = s_axi_araddr[6+:BITS];

  always @(posedge clk) begin
    if (write) memory[write_line] <= write_data;
    if (s_axi_arready) s_axi_rdata <= memory[line];
    if (s_axi_arready) s_axi_rresp <= s_axi_araddr[63:6+BITS] == 0 ? 2'b00 : 2'b11;
    if (rst) s_axi_rvalid <= 1'b0;
    else if (s_axi_arready) s_axi_rvalid <= s_axi_arvalid;
    else if (s_axi_rready) s_axi_rvalid <= 1'b0;
  end
endmodule
