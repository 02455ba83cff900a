// SPDX-License-Identifier: Apache-2.0
// Lines of volumes on the chip for ebs_lookup, which reads whole lines and writes their token buckets, bytes 32 to 47, over
// AXI4. The host writes whole lines, before the engine, and reads any. A cycle with a write has no other access, and a write
// waits until the answer to the one before was taken. Addresses outside are answered with DECERR.
module bucket_memory #(
    // Lines, a power of two, 2 or more.
    parameter LINES = 64
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [$clog2(LINES)-1:0] host_line,
    input  wire [            511:0] host_data,
    input  wire                     host_write,
    output reg  [            511:0] host_reads,     // host_line a cycle ago
    /* verilator lint_off UNUSEDSIGNAL */ input wire [63:0] s_axi_araddr, /* verilator lint_on UNUSEDSIGNAL */  // lines are whole
    input  wire                     s_axi_arvalid,
    output wire                     s_axi_arready,
    output reg  [            511:0] s_axi_rdata,
    output reg  [              1:0] s_axi_rresp,
    output reg                      s_axi_rvalid,
    input  wire                     s_axi_rready,
    /* verilator lint_off UNUSEDSIGNAL */ input wire [63:0] s_axi_awaddr, /* verilator lint_on UNUSEDSIGNAL */  // likewise
    input  wire                     s_axi_awvalid,
    output wire                     s_axi_awready,
    input  wire [            127:0] s_axi_wdata,    // of the bucket
    input  wire                     s_axi_wvalid,
    output wire                     s_axi_wready,
    output reg  [              1:0] s_axi_bresp,
    output reg                      s_axi_bvalid,
    input  wire                     s_axi_bready
);
  if (LINES < 2 || (LINES & (LINES - 1)) != 0) begin : wrong_LINES bucket_memory_needs_LINES_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(LINES);

  reg [383:0] fixed[0:LINES-1];
  reg [127:0] buckets[0:LINES-1];

  wire exists = s_axi_awaddr[63:6+BITS] == 0;
  wire writes = s_axi_awvalid && s_axi_wvalid && !host_write && !s_axi_bvalid;
  wire [BITS-1:0] line = s_axi_araddr[6+:BITS];
  wire [BITS-1:0] write_line = host_write ? host_line : s_axi_awaddr[6+:BITS];
  assign s_axi_awready = writes;
  assign s_axi_wready  = writes;
  assign s_axi_arready = (!s_axi_rvalid || s_axi_rready) && !host_write && !writes;

  always @(posedge clk) begin
    if (host_write) fixed[host_line] <= {host_data[511:384], host_data[255:0]};
    if (host_write || writes && exists) buckets[write_line] <= host_write ? host_data[383:256] : s_axi_wdata;
    {host_reads[511:384], host_reads[255:0]} <= fixed[host_line];
    host_reads[383:256] <= buckets[host_line];
    if (s_axi_arready) begin
      {s_axi_rdata[511:384], s_axi_rdata[255:0]} <= fixed[line];
      s_axi_rdata[383:256] <= buckets[line];
      s_axi_rresp <= s_axi_araddr[63:6+BITS] == 0 ? 2'b00 : 2'b11;
    end
    if (writes) s_axi_bresp <= exists ? 2'b00 : 2'b11;
    if (rst) begin
      s_axi_rvalid <= 1'b0;
      s_axi_bvalid <= 1'b0;
    end else begin
      if (s_axi_arready) s_axi_rvalid <= s_axi_arvalid;
      else if (s_axi_rready) s_axi_rvalid <= 1'b0;
      if (writes) s_axi_bvalid <= 1'b1;
      else if (s_axi_bready) s_axi_bvalid <= 1'b0;
    end
  end
endmodule
