// SPDX-License-Identifier: Apache-2.0
// Registers of a kernel that XRT starts (UG1393, ap_ctrl_hs): a control word, then the arguments of a run.
// offramp.fpga.kernels declares their addresses to Vitis.
module kernel_control (
    input  wire        clk,
    input  wire        rst,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [ 7:0] s_axi_control_awaddr, /* verilator lint_on UNUSEDSIGNAL */  // whole words
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [ 2:0] s_axi_control_awprot, /* verilator lint_on UNUSEDSIGNAL */  // everybody may
    input  wire        s_axi_control_awvalid,
    output wire        s_axi_control_awready,
    input  wire [31:0] s_axi_control_wdata,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [ 3:0] s_axi_control_wstrb, /* verilator lint_on UNUSEDSIGNAL */  // whole words
    input  wire        s_axi_control_wvalid,
    output wire        s_axi_control_wready,
    output wire [ 1:0] s_axi_control_bresp,
    output reg         s_axi_control_bvalid,
    input  wire        s_axi_control_bready,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [ 7:0] s_axi_control_araddr, /* verilator lint_on UNUSEDSIGNAL */  // whole words
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [ 2:0] s_axi_control_arprot, /* verilator lint_on UNUSEDSIGNAL */  // everybody may
    input  wire        s_axi_control_arvalid,
    output wire        s_axi_control_arready,
    output reg  [31:0] s_axi_control_rdata,
    output wire [ 1:0] s_axi_control_rresp,
    output reg         s_axi_control_rvalid,
    input  wire        s_axi_control_rready,
    output reg         start,           // a run begins with this cycle's arguments, which stay
    input  wire        ended,           // it has ended
    output reg  [ 1:0] operation,
    output reg  [ 7:0] place,
    output reg  [31:0] value,
    output reg  [31:0] room,
    output reg  [63:0] to,
    output reg  [63:0] back
);
  localparam [5:0] CONTROL = 6'h00;

  reg running, done;
  wire write = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  wire read = s_axi_control_arvalid && !s_axi_control_rvalid;
  wire asks = write && s_axi_control_awaddr[7:2] == CONTROL && s_axi_control_wdata[0] && !running && !start;

  assign s_axi_control_awready = write;
  assign s_axi_control_wready  = write;
  assign s_axi_control_bresp   = 2'b00;
  assign s_axi_control_arready = read;
  assign s_axi_control_rresp   = 2'b00;

  always @(posedge clk) begin
    if (write)
      case (s_axi_control_awaddr[7:2])
        6'h04: operation <= s_axi_control_wdata[1:0];
        6'h06: place <= s_axi_control_wdata[7:0];
        6'h08: value <= s_axi_control_wdata;
        6'h0A: room <= s_axi_control_wdata;
        6'h0C: to[31:0] <= s_axi_control_wdata;
        6'h0D: to[63:32] <= s_axi_control_wdata;
        6'h0E: back[31:0] <= s_axi_control_wdata;
        6'h0F: back[63:32] <= s_axi_control_wdata;
        default: ;  // control, interrupts, and where the engine's memories lie, which the host tells the engine
      endcase
    if (read) begin
      s_axi_control_rdata <= 32'b0;
      if (s_axi_control_araddr[7:2] == CONTROL) s_axi_control_rdata <= {28'b0, done, !running && !start, done, running || start};
    end
    if (rst) begin
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
      start <= 1'b0;
      running <= 1'b0;
      done <= 1'b0;
    end else begin
      s_axi_control_bvalid <= write || (s_axi_control_bvalid && !s_axi_control_bready);
      s_axi_control_rvalid <= read || (s_axi_control_rvalid && !s_axi_control_rready);
      start <= asks;
      running <= start || (running && !ended);
      if (ended) done <= 1'b1;
      else if (asks || (read && s_axi_control_araddr[7:2] == CONTROL)) done <= 1'b0;  // reading it takes it
    end
  end
endmodule
