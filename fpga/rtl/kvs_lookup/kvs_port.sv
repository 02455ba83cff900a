// SPDX-License-Identifier: Apache-2.0
// One of a key's two reads: hashes the key, asks for its line, and holds the line until the other one is there.
`include "axi.svh"
module kvs_port #(
    // Reflected polynomial of the hash.
    parameter [31:0] POLYNOMIAL = 32'h82F63B78,
    // 1: lines are held here; 0: the memory holds a line until both are taken.
    parameter LINE_BUFFERS = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [ 63:0] base,
    input  wire [ 31:0] mask,
    input  wire [ 63:0] key,
    input  wire         key_valid,
    output wire         key_ready,
    output wire [513:0] line,
    output wire         line_valid,
    input  wire         line_ready,
    `AXI_READS(m_axi, 512)
);
  if (LINE_BUFFERS != 0 && LINE_BUFFERS != 1) begin : wrong_LINE_BUFFERS kvs_port_needs_LINE_BUFFERS_of_0_or_1 refused (); end

  wire [31:0] hash, bucket;
  wire bucket_valid, bucket_ready;
  wire unused_carry;  // tables lie below the end of the address space

  crc_key #(.POLYNOMIAL(POLYNOMIAL)) crc (.key(key), .crc(hash));

  skid_buffer #(
      .WIDTH(32)
  ) hashed (
      .*,
      .in_data(hash & mask),
      .in_valid(key_valid),
      .in_ready(key_ready),
      .out_data(bucket),
      .out_valid(bucket_valid),
      .out_ready(bucket_ready)
  );

  wire [63:0] address;
  wide_add addressed (
      .a(base),
      .b({26'b0, bucket, 6'b0}),
      .sum({unused_carry, address})
  );

  skid_buffer #(
      .WIDTH(64)
  ) asked (
      .*,
      .in_data(address),
      .in_valid(bucket_valid),
      .in_ready(bucket_ready),
      .out_data(m_axi_araddr),
      .out_valid(m_axi_arvalid),
      .out_ready(m_axi_arready)
  );

  assign m_axi_arlen   = 8'd0;   // one beat
  assign m_axi_arsize  = 3'd6;   // of 64 bytes
  assign m_axi_arburst = 2'b01;

  generate
    if (LINE_BUFFERS) begin : held
      skid_buffer #(
          .WIDTH(514)
      ) came (
          .*,
          .in_data({m_axi_rresp, m_axi_rdata}),
          .in_valid(m_axi_rvalid),
          .in_ready(m_axi_rready),
          .out_data(line),
          .out_valid(line_valid),
          .out_ready(line_ready)
      );
    end else begin : passed
      assign line         = {m_axi_rresp, m_axi_rdata};
      assign line_valid   = m_axi_rvalid;
      assign m_axi_rready = line_ready;
    end
  endgenerate
endmodule
