// SPDX-License-Identifier: Apache-2.0
// Copies of any length and alignment between the memories of host, accelerator and NIC (thesis, section 6.3; model:
// offramp.leo.dma). A descriptor is a packet of one beat, its completion another, in the order of the descriptors.
//
// Reads run ahead of writes by up to DEPTH lines; a copy whose source may be what an earlier one still writes waits for it.
// A beat a cycle within a copy. The first beat is written 13 cycles and a read's latency after the descriptor came. An
// abort ends bursts that have begun, writes nothing more and completes everything with ABORTED.
module p2p_dma #(
    // Bits of a beat and of a line of all memories, a power of two, 256 or more.
    parameter WIDTH = 512,
    // Lines of a burst at most, a power of two up to 64.
    parameter BURST = 16,
    // Lines between reads and writes, a power of two, 2 x BURST to 512.
    parameter DEPTH = 64,
    // Descriptors that are accepted and not completed, a power of two, 2 to 128.
    parameter QUEUE = 16
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [        7:0] s_axil_awaddr,
    input  wire [        2:0] s_axil_awprot,
    input  wire               s_axil_awvalid,
    output wire               s_axil_awready,
    input  wire [       31:0] s_axil_wdata,
    input  wire [        3:0] s_axil_wstrb,
    input  wire               s_axil_wvalid,
    output wire               s_axil_wready,
    output wire [        1:0] s_axil_bresp,
    output wire               s_axil_bvalid,
    input  wire               s_axil_bready,
    input  wire [        7:0] s_axil_araddr,
    input  wire [        2:0] s_axil_arprot,
    input  wire               s_axil_arvalid,
    output wire               s_axil_arready,
    output wire [       31:0] s_axil_rdata,
    output wire [        1:0] s_axil_rresp,
    output wire               s_axil_rvalid,
    input  wire               s_axil_rready,
    input  wire [  WIDTH-1:0] s_axis_tdata,
    input  wire [WIDTH/8-1:0] s_axis_tkeep,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    output wire [  WIDTH-1:0] m_axis_tdata,
    output wire [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready,
    output wire [       63:0] m_axi_host_araddr,
    output wire [        7:0] m_axi_host_arlen,
    output wire [        2:0] m_axi_host_arsize,
    output wire [        1:0] m_axi_host_arburst,
    output wire               m_axi_host_arvalid,
    input  wire               m_axi_host_arready,
    input  wire [  WIDTH-1:0] m_axi_host_rdata,
    input  wire [        1:0] m_axi_host_rresp,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire               m_axi_host_rlast, /* verilator lint_on UNUSEDSIGNAL */  // lines are counted
    input  wire               m_axi_host_rvalid,
    output wire               m_axi_host_rready,
    output wire [       63:0] m_axi_host_awaddr,
    output wire [        7:0] m_axi_host_awlen,
    output wire [        2:0] m_axi_host_awsize,
    output wire [        1:0] m_axi_host_awburst,
    output wire               m_axi_host_awvalid,
    input  wire               m_axi_host_awready,
    output wire [  WIDTH-1:0] m_axi_host_wdata,
    output wire [WIDTH/8-1:0] m_axi_host_wstrb,
    output wire               m_axi_host_wlast,
    output wire               m_axi_host_wvalid,
    input  wire               m_axi_host_wready,
    input  wire [        1:0] m_axi_host_bresp,
    input  wire               m_axi_host_bvalid,
    output wire               m_axi_host_bready,
    output wire [       63:0] m_axi_acc_araddr,
    output wire [        7:0] m_axi_acc_arlen,
    output wire [        2:0] m_axi_acc_arsize,
    output wire [        1:0] m_axi_acc_arburst,
    output wire               m_axi_acc_arvalid,
    input  wire               m_axi_acc_arready,
    input  wire [  WIDTH-1:0] m_axi_acc_rdata,
    input  wire [        1:0] m_axi_acc_rresp,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire               m_axi_acc_rlast, /* verilator lint_on UNUSEDSIGNAL */  // lines are counted
    input  wire               m_axi_acc_rvalid,
    output wire               m_axi_acc_rready,
    output wire [       63:0] m_axi_acc_awaddr,
    output wire [        7:0] m_axi_acc_awlen,
    output wire [        2:0] m_axi_acc_awsize,
    output wire [        1:0] m_axi_acc_awburst,
    output wire               m_axi_acc_awvalid,
    input  wire               m_axi_acc_awready,
    output wire [  WIDTH-1:0] m_axi_acc_wdata,
    output wire [WIDTH/8-1:0] m_axi_acc_wstrb,
    output wire               m_axi_acc_wlast,
    output wire               m_axi_acc_wvalid,
    input  wire               m_axi_acc_wready,
    input  wire [        1:0] m_axi_acc_bresp,
    input  wire               m_axi_acc_bvalid,
    output wire               m_axi_acc_bready,
    output wire [       63:0] m_axi_nic_araddr,
    output wire [        7:0] m_axi_nic_arlen,
    output wire [        2:0] m_axi_nic_arsize,
    output wire [        1:0] m_axi_nic_arburst,
    output wire               m_axi_nic_arvalid,
    input  wire               m_axi_nic_arready,
    input  wire [  WIDTH-1:0] m_axi_nic_rdata,
    input  wire [        1:0] m_axi_nic_rresp,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire               m_axi_nic_rlast, /* verilator lint_on UNUSEDSIGNAL */  // lines are counted
    input  wire               m_axi_nic_rvalid,
    output wire               m_axi_nic_rready,
    output wire [       63:0] m_axi_nic_awaddr,
    output wire [        7:0] m_axi_nic_awlen,
    output wire [        2:0] m_axi_nic_awsize,
    output wire [        1:0] m_axi_nic_awburst,
    output wire               m_axi_nic_awvalid,
    input  wire               m_axi_nic_awready,
    output wire [  WIDTH-1:0] m_axi_nic_wdata,
    output wire [WIDTH/8-1:0] m_axi_nic_wstrb,
    output wire               m_axi_nic_wlast,
    output wire               m_axi_nic_wvalid,
    input  wire               m_axi_nic_wready,
    input  wire [        1:0] m_axi_nic_bresp,
    input  wire               m_axi_nic_bvalid,
    output wire               m_axi_nic_bready
);
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

  assign m_axi_host_araddr  = araddr;
  assign m_axi_host_arlen   = arlen;
  assign m_axi_host_arsize  = SIZE;
  assign m_axi_host_arburst = 2'b01;
  assign m_axi_host_arvalid = arvalid[0];
  assign m_axi_host_rready  = rready[0];
  assign m_axi_host_awaddr  = awaddr;
  assign m_axi_host_awlen   = awlen;
  assign m_axi_host_awsize  = SIZE;
  assign m_axi_host_awburst = 2'b01;
  assign m_axi_host_awvalid = awvalid[0];
  assign m_axi_host_wdata   = wdata;
  assign m_axi_host_wstrb   = wstrb;
  assign m_axi_host_wlast   = wlast;
  assign m_axi_host_wvalid  = wvalid[0];
  assign m_axi_host_bready  = bready[0];
  assign m_axi_acc_araddr  = araddr;
  assign m_axi_acc_arlen   = arlen;
  assign m_axi_acc_arsize  = SIZE;
  assign m_axi_acc_arburst = 2'b01;
  assign m_axi_acc_arvalid = arvalid[1];
  assign m_axi_acc_rready  = rready[1];
  assign m_axi_acc_awaddr  = awaddr;
  assign m_axi_acc_awlen   = awlen;
  assign m_axi_acc_awsize  = SIZE;
  assign m_axi_acc_awburst = 2'b01;
  assign m_axi_acc_awvalid = awvalid[1];
  assign m_axi_acc_wdata   = wdata;
  assign m_axi_acc_wstrb   = wstrb;
  assign m_axi_acc_wlast   = wlast;
  assign m_axi_acc_wvalid  = wvalid[1];
  assign m_axi_acc_bready  = bready[1];
  assign m_axi_nic_araddr  = araddr;
  assign m_axi_nic_arlen   = arlen;
  assign m_axi_nic_arsize  = SIZE;
  assign m_axi_nic_arburst = 2'b01;
  assign m_axi_nic_arvalid = arvalid[2];
  assign m_axi_nic_rready  = rready[2];
  assign m_axi_nic_awaddr  = awaddr;
  assign m_axi_nic_awlen   = awlen;
  assign m_axi_nic_awsize  = SIZE;
  assign m_axi_nic_awburst = 2'b01;
  assign m_axi_nic_awvalid = awvalid[2];
  assign m_axi_nic_wdata   = wdata;
  assign m_axi_nic_wstrb   = wstrb;
  assign m_axi_nic_wlast   = wlast;
  assign m_axi_nic_wvalid  = wvalid[2];
  assign m_axi_nic_bready  = bready[2];

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
  initial if (WIDTH < 256 || LANES != 1 << LINE) $fatal(1, "p2p_dma: WIDTH %0d", WIDTH);
  initial if (DEPTH < 2 * BURST || DEPTH > 512) $fatal(1, "p2p_dma: DEPTH %0d", DEPTH);
  always @(posedge clk) if (!rst) assert (!came_valid || lines.in_ready);
`endif
endmodule
