// SPDX-License-Identifier: Apache-2.0
// kvs_lookup and reduce behind a serial line, the table on the chip.
//
// Frames (serial_frames) go to 0 the look-ups, 1 the sums, 2 the table, whose next 16 bytes they are, or 3 the registers of
// kvs_lookup: byte 0 the offset, bytes 1 to 4 the value; offset 252 sets where in the table the next 16 bytes go.
module demonstrator #(
    // Cycles of a bit of the serial line.
    parameter DIVISOR = 25,
    // Of the table, a power of two.
    parameter LINES   = 64,
    // Of a sum: 2, 4 or 8.
    parameter INPUTS = 2
) (
    input  wire clk,
    input  wire rst,
    input  wire rx,
    output wire tx
);
  localparam [1:0] TABLE = 2, REGISTERS = 3;
  localparam [7:0] SLOT = 252;

  wire [7:0] tag;
  wire [127:0] data;
  wire valid, kvs_ready, reduce_ready;
  wire [15:0] keep = ~(16'hFFFE << tag[7:4]);
  wire [127:0] kvs_out_tdata, reduce_out_tdata;
  wire kvs_out_tlast, kvs_out_tvalid, kvs_out_tready, reduce_out_tlast, reduce_out_tvalid, reduce_out_tready;

  reg [39:0] register;
  reg address_waits, value_waits;
  wire address_taken, value_taken;
  reg [$clog2(LINES*4)-1:0] slot;
  wire writing = address_waits || value_waits;

  always @(posedge clk) begin
    if (valid && tag[1:0] == TABLE) slot <= slot + 1'b1;
    if (valid && tag[1:0] == REGISTERS && !writing) begin
      if (data[7:0] == SLOT) slot <= data[39:8];
      else begin
        register <= data[39:0];
        {address_waits, value_waits} <= 2'b11;
      end
    end else begin
      if (address_taken) address_waits <= 1'b0;
      if (value_taken) value_waits <= 1'b0;
    end
    if (rst) begin
      slot <= 0;
      {address_waits, value_waits} <= 2'b00;
    end
  end

  wire taken = tag[1:0] == 2'd0 ? kvs_ready : tag[1:0] == 2'd1 ? reduce_ready : tag[1:0] == TABLE || !writing;

  wire [1:0] chosen;
  wire out_valid, out_ready;
  arbiter #(
      .COUNT(2)
  ) turns (
      .clk(clk),
      .rst(rst),
      .request({reduce_out_tvalid, kvs_out_tvalid}),
      .grant(chosen),
      .valid(out_valid),
      .taken(out_ready)
  );
  assign {reduce_out_tready, kvs_out_tready} = chosen & {2{out_ready}};

  serial_frames #(
      .DIVISOR(DIVISOR)
  ) line (
      .clk(clk),
      .rst(rst),
      .rx(rx),
      .tx(tx),
      .in_tag(tag),
      .in_data(data),
      .in_valid(valid),
      .in_ready(taken),
      .out_tag({5'b0, chosen[1] ? reduce_out_tlast : kvs_out_tlast, 1'b0, chosen[1]}),
      .out_data(chosen[1] ? reduce_out_tdata : kvs_out_tdata),
      .out_valid(out_valid),
      .out_ready(out_ready)
  );

  wire [63:0] read_0_araddr;
  wire read_0_arvalid, read_0_arready, read_0_rvalid, read_0_rready;
  wire [511:0] read_0_rdata;
  wire [1:0] read_0_rresp;
  line_memory #(
      .LINES(LINES)
  ) table_0 (
      .clk(clk),
      .rst(rst),
      .write_slot(slot),
      .write_data(data),
      .write(valid && tag[1:0] == TABLE),
      .s_axi_araddr(read_0_araddr),
      .s_axi_arvalid(read_0_arvalid),
      .s_axi_arready(read_0_arready),
      .s_axi_rdata(read_0_rdata),
      .s_axi_rresp(read_0_rresp),
      .s_axi_rvalid(read_0_rvalid),
      .s_axi_rready(read_0_rready)
  );

  wire [63:0] read_1_araddr;
  wire read_1_arvalid, read_1_arready, read_1_rvalid, read_1_rready;
  wire [511:0] read_1_rdata;
  wire [1:0] read_1_rresp;
  line_memory #(
      .LINES(LINES)
  ) table_1 (
      .clk(clk),
      .rst(rst),
      .write_slot(slot),
      .write_data(data),
      .write(valid && tag[1:0] == TABLE),
      .s_axi_araddr(read_1_araddr),
      .s_axi_arvalid(read_1_arvalid),
      .s_axi_arready(read_1_arready),
      .s_axi_rdata(read_1_rdata),
      .s_axi_rresp(read_1_rresp),
      .s_axi_rvalid(read_1_rvalid),
      .s_axi_rready(read_1_rready)
  );

  kvs_lookup #(
      .WIDTH (128),
      .FLIGHT(8)
  ) kvs (
      .clk(clk),
      .rst(rst),
      .s_axil_awaddr(register[7:0]),
      .s_axil_awprot(3'b0),
      .s_axil_awvalid(address_waits),
      .s_axil_awready(address_taken),
      .s_axil_wdata(register[39:8]),
      .s_axil_wstrb(4'hF),
      .s_axil_wvalid(value_waits),
      .s_axil_wready(value_taken),
      .s_axil_bresp(),
      .s_axil_bvalid(),
      .s_axil_bready(1'b1),
      .s_axil_araddr(8'b0),
      .s_axil_arprot(3'b0),
      .s_axil_arvalid(1'b0),
      .s_axil_arready(),
      .s_axil_rdata(),
      .s_axil_rresp(),
      .s_axil_rvalid(),
      .s_axil_rready(1'b1),
      .s_axis_tdata(data),
      .s_axis_tkeep(keep),
      .s_axis_tlast(tag[2]),
      .s_axis_tvalid(valid && tag[1:0] == 2'd0),
      .s_axis_tready(kvs_ready),
      .m_axis_tdata(kvs_out_tdata),
      .m_axis_tkeep(),
      .m_axis_tlast(kvs_out_tlast),
      .m_axis_tvalid(kvs_out_tvalid),
      .m_axis_tready(kvs_out_tready),
      .m_axi_0_araddr(read_0_araddr),
      .m_axi_0_arlen(),
      .m_axi_0_arsize(),
      .m_axi_0_arburst(),
      .m_axi_0_arvalid(read_0_arvalid),
      .m_axi_0_arready(read_0_arready),
      .m_axi_0_rdata(read_0_rdata),
      .m_axi_0_rresp(read_0_rresp),
      .m_axi_0_rlast(1'b1),
      .m_axi_0_rvalid(read_0_rvalid),
      .m_axi_0_rready(read_0_rready),
      .m_axi_1_araddr(read_1_araddr),
      .m_axi_1_arlen(),
      .m_axi_1_arsize(),
      .m_axi_1_arburst(),
      .m_axi_1_arvalid(read_1_arvalid),
      .m_axi_1_arready(read_1_arready),
      .m_axi_1_rdata(read_1_rdata),
      .m_axi_1_rresp(read_1_rresp),
      .m_axi_1_rlast(1'b1),
      .m_axi_1_rvalid(read_1_rvalid),
      .m_axi_1_rready(read_1_rready)
  );

  reduce #(
      .WIDTH(128),
      .DEPTH(16),
      .INPUTS(INPUTS),
      .BFLOAT16S(0)
  ) sums (
      .clk(clk),
      .rst(rst),
      .s_axil_awaddr(8'b0),
      .s_axil_awprot(3'b0),
      .s_axil_awvalid(1'b0),
      .s_axil_awready(),
      .s_axil_wdata(32'b0),
      .s_axil_wstrb(4'b0),
      .s_axil_wvalid(1'b0),
      .s_axil_wready(),
      .s_axil_bresp(),
      .s_axil_bvalid(),
      .s_axil_bready(1'b1),
      .s_axil_araddr(8'b0),
      .s_axil_arprot(3'b0),
      .s_axil_arvalid(1'b0),
      .s_axil_arready(),
      .s_axil_rdata(),
      .s_axil_rresp(),
      .s_axil_rvalid(),
      .s_axil_rready(1'b1),
      .s_axis_tdata(data),
      .s_axis_tkeep(keep),
      .s_axis_tlast(tag[2]),
      .s_axis_tvalid(valid && tag[1:0] == 2'd1),
      .s_axis_tready(reduce_ready),
      .m_axis_tdata(reduce_out_tdata),
      .m_axis_tkeep(),
      .m_axis_tlast(reduce_out_tlast),
      .m_axis_tvalid(reduce_out_tvalid),
      .m_axis_tready(reduce_out_tready)
  );
endmodule
