// SPDX-License-Identifier: Apache-2.0
// One packet of a stream into memory, from a line on or from the line behind it. A line is a burst of its own: how long a packet will be is
// not known before its end. What has no room is counted and dropped.
`include "axi.svh"
module memory_sink #(
    // Bits of a beat and of a line of memory, a power of two, 64 to 1024.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,          // only while idle
    input  wire [       63:0] address,        // of a line
    input  wire               skip,           // begin on the line behind it
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [       31:0] room, /* verilator lint_on UNUSEDSIGNAL */  // bytes, whole lines
    output wire               idle,
    output reg  [       31:0] bytes,          // of the packet, whole beats
    output reg  [        1:0] response,       // the worst of memory's answers
    output reg  [       63:0] m_axi_awaddr,
    output reg                m_axi_awvalid,
    input  wire               m_axi_awready,
    output reg  [  WIDTH-1:0] m_axi_wdata,
    output reg  [WIDTH/8-1:0] m_axi_wstrb,
    output reg                m_axi_wvalid,
    input  wire               m_axi_wready,
    input  wire [        1:0] m_axi_bresp,
    input  wire               m_axi_bvalid,
    output wire               m_axi_bready,
    `AXIS_IN(s_axis, WIDTH)
);
  if (WIDTH < 64 || WIDTH > 1024 || (WIDTH & (WIDTH - 1)) != 0) begin : wrong_WIDTH memory_sink_needs_WIDTH_a_power_of_two_64_to_1024 refused (); end

  localparam LANES = WIDTH / 8;
  localparam LINE = $clog2(LANES);
  localparam FLIGHT = 64;

  reg open, skipping;          // the packet's end has not come; its place is not known yet
  reg [63:0] next;
  reg [31-LINE:0] lines_left;
  reg [6:0] unanswered;

  wire free = (!m_axi_awvalid || m_axi_awready) && (!m_axi_wvalid || m_axi_wready) && unanswered < FLIGHT;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire write = taken && lines_left != 0;

  assign s_axis_tready = open && !skipping && free;
  assign m_axi_bready  = 1'b1;
  assign idle          = !open && unanswered == 0;

  wire [63:0] behind;
  wire unused_carry;  // a packet lies within a memory
  wide_add advance (
      .a(next),
      .b({{63 - LINE{1'b0}}, 1'b1, {LINE{1'b0}}}),
      .sum({unused_carry, behind})
  );

  always @(posedge clk) begin
    if (write) begin
      m_axi_awaddr <= next;
      m_axi_wdata  <= s_axis_tdata;
      m_axi_wstrb  <= s_axis_tkeep;
    end
    if (start) begin
      lines_left <= room[31:LINE];
      bytes <= 0;
    end else if (taken) begin
      if (write) lines_left <= lines_left - 1'b1;
      bytes <= bytes + LANES;
    end
    if (start) next <= address;
    else if (taken || skipping) next <= behind;
    if (rst || start) response <= 2'b00;
    else if (m_axi_bvalid && m_axi_bresp > response) response <= m_axi_bresp;
    if (rst) begin
      open <= 1'b0;
      skipping <= 1'b0;
      m_axi_awvalid <= 1'b0;
      m_axi_wvalid <= 1'b0;
      unanswered <= 0;
    end else begin
      skipping <= start && skip;
      open <= start || (open && !(taken && s_axis_tlast));
      m_axi_awvalid <= write || (m_axi_awvalid && !m_axi_awready);
      m_axi_wvalid <= write || (m_axi_wvalid && !m_axi_wready);
      unanswered <= unanswered + {6'b0, write} - {6'b0, m_axi_bvalid};
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!start || idle);
`endif
endmodule
