// SPDX-License-Identifier: Apache-2.0
// Wraps an engine as a kernel that XRT runs: a run writes or reads one of the engine's registers, or carries a packet from
// memory to the engine and its answer back. A run ends with a line at `back`: words 0 to 3 are the register's value or the
// answer's bytes, the worst of memory's responses, the run's cycles, and a beat's bytes. An answer begins on the line behind.
`include "axi.svh"
module kernel_shell #(
    // Bits of a beat and of a line of memory, a power of two, 128 to 1024.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    `AXIL_PORTS(s_axi_control),
    `AXI_READS(m_axi_packets, WIDTH),
    `AXI_WRITES(m_axi_packets, WIDTH),
    output wire [        7:0] m_axil_addr,           // the engine's registers
    output wire               m_axil_awvalid,
    input  wire               m_axil_awready,
    output wire [       31:0] m_axil_wdata,
    output wire               m_axil_wvalid,
    input  wire               m_axil_wready,
    input  wire               m_axil_bvalid,
    output wire               m_axil_arvalid,
    input  wire               m_axil_arready,
    input  wire [       31:0] m_axil_rdata,
    input  wire               m_axil_rvalid,
    output wire [        7:0] way,                   // which of the engine's streams packet and answer take
    `AXIS_OUT(m_axis, WIDTH),
    `AXIS_IN(s_axis, WIDTH)
);
  localparam LANES = WIDTH / 8;
  /* verilator lint_off WIDTHTRUNC */ localparam [2:0] SIZE = $clog2(LANES); /* verilator lint_on WIDTHTRUNC */  // the value fits
  localparam [31:0] BEAT = LANES;
  localparam [1:0] EXCHANGE = 2'd0, WRITE = 2'd1, READ = 2'd2;
  localparam [2:0] IDLE = 3'd0, MOVES = 3'd1, WRITES = 3'd2, READS = 3'd3, REPORTS = 3'd4, REPORTED = 3'd5;

  wire start;
  wire [1:0] operation;
  wire [7:0] place;
  wire [31:0] value, room;
  wire [63:0] to, back;
  reg ended;
  kernel_control control (.*);

  reg [2:0] state;
  reg [31:0] result, cycles;
  reg [1:0] worst;
  reg report, addressed, given;  // the engine has taken a register's address, and its value
  wire moves = start && operation == EXCHANGE;

  wire source_idle, sink_idle;
  wire [1:0] read_response, write_response;
  wire [31:0] bytes;
  wire [1:0] response = read_response > write_response ? read_response : write_response;
  memory_source #(
      .WIDTH(WIDTH)
  ) source (
      .*,
      .start(moves),
      .address(to),
      .bytes(value),
      .idle(source_idle),
      .response(read_response),
      `AXI_READS_JOIN(m_axi, m_axi_packets)
  );

  wire reporting = state == REPORTED;
  reg [WIDTH-1:0] report_line;
  always @* begin
    report_line = 0;
    report_line[127:0] = {BEAT, cycles, 30'b0, worst, result};
  end
  wire sink_ready;
  memory_sink #(
      .WIDTH(WIDTH)
  ) sink (
      .*,
      .start(moves || report),
      .address(back),
      .skip(!report),
      .room(report ? LANES : room),
      .idle(sink_idle),
      .response(write_response),
      .m_axi_awaddr(m_axi_packets_awaddr),
      .m_axi_awvalid(m_axi_packets_awvalid),
      .m_axi_awready(m_axi_packets_awready),
      .m_axi_wdata(m_axi_packets_wdata),
      .m_axi_wstrb(m_axi_packets_wstrb),
      .m_axi_wvalid(m_axi_packets_wvalid),
      .m_axi_wready(m_axi_packets_wready),
      .m_axi_bresp(m_axi_packets_bresp),
      .m_axi_bvalid(m_axi_packets_bvalid),
      .m_axi_bready(m_axi_packets_bready),
      .s_axis_tdata(reporting ? report_line : s_axis_tdata),
      .s_axis_tkeep(reporting ? {LANES{1'b1}} : s_axis_tkeep),
      .s_axis_tlast(reporting || s_axis_tlast),
      .s_axis_tvalid(reporting || s_axis_tvalid),
      .s_axis_tready(sink_ready)
  );
  assign s_axis_tready         = sink_ready && !reporting;
  assign way                   = place;
  assign m_axi_packets_awlen   = 8'd0;
  assign m_axi_packets_awsize  = SIZE;
  assign m_axi_packets_awburst = 2'b01;
  assign m_axi_packets_wlast   = 1'b1;

  assign m_axil_addr    = place;
  assign m_axil_wdata   = value;
  assign m_axil_awvalid = state == WRITES && !addressed;
  assign m_axil_wvalid  = state == WRITES && !given;
  assign m_axil_arvalid = state == READS && !addressed;

  always @(posedge clk) begin
    if (start) begin
      result <= 0;
      cycles <= 0;
      worst  <= 2'b00;
    end else begin
      if (state == READS && m_axil_rvalid) result <= m_axil_rdata;
      if (state == MOVES) begin
        result <= bytes;
        worst  <= response;
      end
      if (state != REPORTED) cycles <= cycles + 1'b1;
    end
    addressed <= !start && (addressed || (m_axil_awvalid && m_axil_awready) || (m_axil_arvalid && m_axil_arready));
    given <= !start && (given || (m_axil_wvalid && m_axil_wready));
    if (rst) begin
      state <= IDLE;
      report  <= 1'b0;
      ended <= 1'b0;
    end else begin
      report  <= 1'b0;
      ended <= reporting && sink_idle;
      case (state)
        IDLE:
        if (start) state <= operation == WRITE ? WRITES : operation == READ ? READS : operation == EXCHANGE ? MOVES : REPORTS;
        MOVES: if (source_idle && sink_idle) state <= REPORTS;
        WRITES: if (m_axil_bvalid) state <= REPORTS;
        READS: if (m_axil_rvalid) state <= REPORTS;
        REPORTS: begin
          report  <= !report;
          if (report) state <= REPORTED;
        end
        default: if (sink_idle) state <= IDLE;
      endcase
    end
  end
endmodule
