// SPDX-License-Identifier: Apache-2.0
// Copies of any length and alignment between the memories of host, accelerator and NIC (thesis, section 6.3; model:
// offramp.leo.dma). A descriptor is a packet of one beat, its completion another, in the order of the descriptors.
//
// Reads run ahead of writes by up to DEPTH lines; a copy whose source may be what an earlier one still writes waits for it.
// A beat a cycle within a copy. The first beat is written 13 cycles and a read's latency after the descriptor came. An
// abort ends bursts that have begun, writes nothing more and completes everything with ABORTED.
`include "axi.svh"
module p2p_dma #(
    // Bits of a beat and of a line of all memories, a power of two, 256 to 1024.
    parameter WIDTH = 512,
    // Lines of a burst at most, a power of two up to 64.
    parameter BURST = 16,
    // Lines between reads and writes, a power of two, 2 x BURST to 512.
    parameter DEPTH = 64,
    // Descriptors that are accepted and not completed, a power of two, 2 to 128.
    parameter QUEUE = 16
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis, WIDTH),
    `AXIS_OUT(m_axis, WIDTH),
    `AXI_READS(m_axi_host, WIDTH),
    `AXI_WRITES(m_axi_host, WIDTH),
    `AXI_READS(m_axi_acc, WIDTH),
    `AXI_WRITES(m_axi_acc, WIDTH),
    `AXI_READS(m_axi_nic, WIDTH),
    `AXI_WRITES(m_axi_nic, WIDTH)
);
  if (BURST < 1 || BURST > 64 || (BURST & (BURST - 1)) != 0) begin : wrong_BURST p2p_dma_needs_BURST_a_power_of_two_1_to_64 refused (); end
  if (DEPTH < 2 * BURST || DEPTH > 512) begin : wrong_DEPTH p2p_dma_needs_DEPTH_from_2_BURST_to_512 refused (); end
  if (QUEUE < 2 || QUEUE > 128) begin : wrong_QUEUE p2p_dma_needs_QUEUE_from_2_to_128 refused (); end

  localparam LANES = WIDTH / 8;
  localparam LINE = $clog2(LANES);
  /* verilator lint_off WIDTHTRUNC */ localparam [2:0] SIZE = LINE; /* verilator lint_on WIDTHTRUNC */  // the value fits

  wire abort;
  wire [191:0] limits;
  reg [31:0] copies, faults;
  wire busy;

  p2p_dma_regs regs (
      .*,
      .hwif_out_control_abort(abort),
      .hwif_in_status_busy(busy),
      .hwif_in_lanes_value(LANES),
      .hwif_in_copies_value(copies),
      .hwif_in_faults_value(faults),
      .hwif_out_host_low_value(limits[31:0]),
      .hwif_out_host_high_value(limits[63:32]),
      .hwif_out_accelerator_low_value(limits[95:64]),
      .hwif_out_accelerator_high_value(limits[127:96]),
      .hwif_out_nic_low_value(limits[159:128]),
      .hwif_out_nic_high_value(limits[191:160])
  );

  // Checked descriptors. Whole lines are within the limits because limits are multiples of a line.
  wire job_valid, job_ready;
  wire [7:0] job_status;
  wire [63:0] job_number, job_source, job_destination;
  wire [1:0] job_from, job_to;
  wire [31:0] job_length;
  wire moves;
  wire [32:0] source_lines, destination_lines;
  wire [63:0] line_bits = {{64 - LINE{1'b1}}, {LINE{1'b0}}};

  dma_check #(
      .WIDTH(WIDTH)
  ) check (
      .*,
      .limits(limits & {3{line_bits}}),
      .valid(job_valid),
      .ready(job_ready),
      .status(job_status),
      .number(job_number),
      .from(job_from),
      .to(job_to),
      .length(job_length),
      .source(job_source),
      .destination(job_destination)
  );

  // All state between descriptors and completions is cleared at the end of an abort, when the bus is quiet.
  reg poison;
  wire read_quiet, write_quiet, order_valid, order_ready, order_room;
  wire flush = poison && read_quiet && write_quiet;
  wire clear = rst || flush;

  // A job goes to reads, alignment and writes at once. What an earlier job writes may be what this one reads.
  wire read_ready, align_ready, write_room;
  reg [8*3-1:0] writing;  // jobs that write to each memory, 8 bits each
  wire hazard = writing[8*job_from+:8] != 0;
  wire starts = job_valid && order_room && !poison && (!moves || (read_ready && align_ready && write_room && !hazard));
  assign job_ready = order_room && (poison || starts);
  wire move = starts && moves;

  wire [63:0] araddr, awaddr;
  wire [7:0] arlen, awlen;
  wire [2:0] arvalid, rready, awvalid, wvalid, bready;
  wire [WIDTH-1:0] wdata;
  wire [LANES-1:0] wstrb;
  wire wlast;

  // Connects a memory, by its number.
  `define DMA_MEMORY(NUMBER, BUS) \
  assign BUS``_araddr = araddr; \
  assign BUS``_arlen = arlen; \
  assign BUS``_arsize = SIZE; \
  assign BUS``_arburst = 2'b01; \
  assign BUS``_arvalid = arvalid[NUMBER]; \
  assign BUS``_rready = rready[NUMBER]; \
  assign BUS``_awaddr = awaddr; \
  assign BUS``_awlen = awlen; \
  assign BUS``_awsize = SIZE; \
  assign BUS``_awburst = 2'b01; \
  assign BUS``_awvalid = awvalid[NUMBER]; \
  assign BUS``_wdata = wdata; \
  assign BUS``_wstrb = wstrb; \
  assign BUS``_wlast = wlast; \
  assign BUS``_wvalid = wvalid[NUMBER]; \
  assign BUS``_bready = bready[NUMBER];
  `DMA_MEMORY(0, m_axi_host)
  `DMA_MEMORY(1, m_axi_acc)
  `DMA_MEMORY(2, m_axi_nic)

  wire [WIDTH+1:0] came, line;
  wire came_valid, line_valid, line_ready;

  dma_read #(
      .WIDTH(WIDTH),
      .BURST(BURST),
      .DEPTH(DEPTH)
  ) read (
      .*,
      .rst(clear),
      .stop(poison),
      .quiet(read_quiet),
      .job_valid(move),
      .job_ready(read_ready),
      .job_address(job_source & line_bits),
      .job_lines(source_lines),
      .arready({m_axi_nic_arready, m_axi_acc_arready, m_axi_host_arready}),
      .rdata({m_axi_nic_rdata, m_axi_acc_rdata, m_axi_host_rdata}),
      .rresp({m_axi_nic_rresp, m_axi_acc_rresp, m_axi_host_rresp}),
      .rvalid({m_axi_nic_rvalid, m_axi_acc_rvalid, m_axi_host_rvalid}),
      .line(came),
      .line_valid(came_valid),
      .line_taken(line_valid && line_ready)
  );

  fifo #(
      .WIDTH(WIDTH + 2),
      .DEPTH(DEPTH)
  ) lines (
      .clk(clk),
      .rst(clear),
      .in_data(came),
      .in_valid(came_valid),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // dma_read asks for no more than there is room for; credits have counted what comes
      .out_data(line),
      .out_valid(line_valid),
      .out_ready(line_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire [LANES-1:0] moved_strobe, ready_strobe;
  wire [WIDTH-1:0] moved, ready_data;
  wire [1:0] moved_response, ready_response;
  wire moved_valid, moved_ready, taken;

  dma_align #(
      .WIDTH(WIDTH)
  ) align (
      .*,
      .rst(clear),
      .job_valid(move),
      .job_ready(align_ready),
      .job_source_lines(source_lines),
      .job_destination_lines(destination_lines),
      .out_strobe(moved_strobe),
      .out_data(moved),
      .out_response(moved_response),
      .out_valid(moved_valid),
      .out_ready(moved_ready)
  );

  fifo #(
      .WIDTH(WIDTH + LANES + 2),
      .DEPTH(DEPTH)
  ) ready_lines (
      .clk(clk),
      .rst(clear),
      .in_data({moved_response, moved_strobe, moved}),
      .in_valid(moved_valid),
      .in_ready(moved_ready),
      .out_data({ready_response, ready_strobe, ready_data}),
      /* verilator lint_off PINCONNECTEMPTY */ .out_valid(), /* verilator lint_on PINCONNECTEMPTY */  // dma_write counts what has come; not needed here
      .out_ready(taken),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire write_valid, write_ready, written;
  wire [1:0] write_to, written_to, written_response;
  wire [63:0] write_address;
  wire [32:0] write_lines;

  fifo #(
      .WIDTH(99),
      .DEPTH(QUEUE)
  ) writes (
      .clk(clk),
      .rst(clear),
      .in_data({job_to, job_destination & line_bits, destination_lines}),
      .in_valid(move),
      .in_ready(write_room),
      .out_data({write_to, write_address, write_lines}),
      .out_valid(write_valid),
      .out_ready(write_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  dma_write #(
      .WIDTH(WIDTH),
      .BURST(BURST)
  ) write (
      .*,
      .rst(clear),
      .stop(poison),
      .quiet(write_quiet),
      .job_valid(write_valid),
      .job_ready(write_ready),
      .job_to(write_to),
      .job_address(write_address),
      .job_lines(write_lines),
      .arrived(moved_valid && moved_ready),
      .line_data(ready_data),
      .line_strobe(ready_strobe),
      .line_response(ready_response),
      .line_ready(taken),
      .awready({m_axi_nic_awready, m_axi_acc_awready, m_axi_host_awready}),
      .wready({m_axi_nic_wready, m_axi_acc_wready, m_axi_host_wready}),
      .bresp({m_axi_nic_bresp, m_axi_acc_bresp, m_axi_host_bresp}),
      .bvalid({m_axi_nic_bvalid, m_axi_acc_bvalid, m_axi_host_bvalid}),
      .done(written),
      .done_to(written_to),
      .done_response(written_response)
  );

  // Completions, in the order of the descriptors.
  wire done_valid, done_ready;
  wire [1:0] done_response;

  fifo #(
      .WIDTH(2),
      .DEPTH(QUEUE)
  ) dones (
      .*,
      .in_data(written_response),
      .in_valid(written),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // there are no more than descriptors; credits have counted what comes
      .out_data(done_response),
      .out_valid(done_valid),
      .out_ready(done_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  wire [7:0] first_status;
  wire first_moves;
  wire [31:0] first_length;
  wire [63:0] first_number;

  fifo #(
      .WIDTH(105),
      .DEPTH(QUEUE)
  ) order (
      .*,
      .in_data({poison ? device_pkg::ABORTED : job_status, !poison && moves, job_length, job_number}),
      .in_valid(job_valid && job_ready),
      .in_ready(order_room),
      .out_data({first_status, first_moves, first_length, first_number}),
      .out_valid(order_valid),
      .out_ready(order_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  dma_complete #(
      .WIDTH(WIDTH)
  ) complete (
      .*,
      .job_valid(order_valid),
      .job_ready(order_ready),
      .job_status(first_status),
      .job_moves(first_moves),
      .job_length(first_length),
      .job_number(first_number)
  );

  assign busy = job_valid || order_valid || m_axis_tvalid;

  wire out = m_axis_tvalid && m_axis_tready;
  integer memory;
  always @(posedge clk) begin
    for (memory = 0; memory < 3; memory = memory + 1)
    if (clear) writing[8*memory+:8] <= 0;
    else
      /* verilator lint_off WIDTHEXPAND */ writing[8*memory+:8] <= writing[8*memory+:8] + (move && job_to == memory) - (written && written_to == memory); /* verilator lint_on WIDTHEXPAND */  // zero-extended
    if (rst) begin
      poison <= 1'b0;
      copies <= 0;
      faults <= 0;
    end else begin
      if (abort) poison <= 1'b1;
      else if (poison && !order_valid && !job_valid) poison <= 1'b0;
      if (out && m_axis_tdata[7:0] == device_pkg::OK) copies <= copies + 1'b1;
      if (out && m_axis_tdata[7:0] != device_pkg::OK) faults <= faults + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (!came_valid || lines.in_ready);
`endif
endmodule
