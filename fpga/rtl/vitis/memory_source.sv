// SPDX-License-Identifier: Apache-2.0
// Reads bytes of memory and sends them as one packet of a stream.
`include "axi.svh"
module memory_source #(
    // Bits of a beat and of a line of memory, a power of two, 128 to 1024.
    parameter WIDTH = 512,
    // Most lines of a burst, 1 to 256.
    parameter BURST = 16,
    // Lines that wait for the stream or are on their way, a power of two, 2 x BURST or more.
    parameter DEPTH = 64
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,         // only while idle
    input  wire [       63:0] address,       // address of a line
    input  wire [       31:0] bytes,         // 0: no packet; both stay until it is idle again
    output wire               idle,
    output reg  [        1:0] response,      // the worst of the memory's answers
    `AXI_READS(m_axi, WIDTH),
    `AXIS_OUT(m_axis, WIDTH)
);
  if (DEPTH < 2 * BURST) begin : wrong_DEPTH memory_source_needs_DEPTH_of_2_BURST_or_more refused (); end

  localparam LANES = WIDTH / 8;
  localparam LINE = $clog2(LANES);
  /* verilator lint_off WIDTHTRUNC */ localparam [2:0] SIZE = LINE; /* verilator lint_on WIDTHTRUNC */  // the value fits

  wire [LINE-1:0] odd = bytes[LINE-1:0];  // bytes of the last beat; 0: all
  wire [32:0] lines = {{LINE + 1{1'b0}}, bytes[31:LINE]} + {32'b0, |odd};

  reg [32:0] left;
  assign idle = left == 0;
  wire begins = start && bytes != 0;
  wire taken = m_axis_tvalid && m_axis_tready;

  wire [2:0] arvalid, rready;
  wire [WIDTH+1:0] line;
  wire line_valid;
  dma_read #(
      .WIDTH(WIDTH),
      .BURST(BURST),
      .DEPTH(DEPTH)
  ) read (
      .*,
      .stop(1'b0),
      /* verilator lint_off PINCONNECTEMPTY */ .quiet(), /* verilator lint_on PINCONNECTEMPTY */  // beats are counted
      .job_valid(begins),
      /* verilator lint_off PINCONNECTEMPTY */ .job_ready(), /* verilator lint_on PINCONNECTEMPTY */  // idle shows it
      .job_from(2'd0),
      .job_address(address),
      .job_lines(lines),
      .araddr(m_axi_araddr),
      .arlen(m_axi_arlen),
      .arready({2'b0, m_axi_arready}),
      .rdata({{2 * WIDTH{1'b0}}, m_axi_rdata}),
      .rresp({4'b0, m_axi_rresp}),
      .rvalid({2'b0, m_axi_rvalid}),
      .line_taken(taken)
  );
  assign m_axi_arsize  = SIZE;
  assign m_axi_arburst = 2'b01;
  assign m_axi_arvalid = arvalid[0];
  assign m_axi_rready  = rready[0];
  wire unused_memories = |arvalid[2:1] || |rready[2:1];

  wire queue_ready;  // dma_read asks for no more than there is room for
  fifo #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) queue (
      .*,
      .in_data(line[WIDTH-1:0]),
      .in_valid(line_valid),
      .in_ready(queue_ready),
      .out_data(m_axis_tdata),
      .out_valid(m_axis_tvalid),
      .out_ready(m_axis_tready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  assign m_axis_tlast = left == 1;
  assign m_axis_tkeep = m_axis_tlast && odd != 0 ? ~({LANES{1'b1}} << odd) : {LANES{1'b1}};

  always @(posedge clk) begin
    if (rst || start) response <= 2'b00;
    else if (line_valid && line[WIDTH+:2] > response) response <= line[WIDTH+:2];
    if (rst) left <= 0;
    else if (begins) left <= lines;
    else if (taken) left <= left - 1'b1;
  end

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!line_valid || queue_ready);
  always @(posedge clk) if (!rst) assert (!start || idle);
`endif
endmodule
