// SPDX-License-Identifier: Apache-2.0
// AXI buses, written once. `..._PORTS`, `..._IN`, `..._OUT`, `..._READS` and `..._WRITES` declare a bus among a module's
// ports; `..._JOIN` connects a bus of an instance to signals of another name, where `.*` cannot. Macros, because Icarus
// and yosys have no interfaces, and because vendors' tools want plain ports with these names.
`ifndef AXI_SVH
`define AXI_SVH

// Registers: AXI-Lite, 256 bytes.
`define AXIL_PORTS(BUS) \
    input  wire [7:0]  BUS``_awaddr, \
    input  wire [2:0]  BUS``_awprot, \
    input  wire        BUS``_awvalid, \
    output wire        BUS``_awready, \
    input  wire [31:0] BUS``_wdata, \
    input  wire [3:0]  BUS``_wstrb, \
    input  wire        BUS``_wvalid, \
    output wire        BUS``_wready, \
    output wire [1:0]  BUS``_bresp, \
    output wire        BUS``_bvalid, \
    input  wire        BUS``_bready, \
    input  wire [7:0]  BUS``_araddr, \
    input  wire [2:0]  BUS``_arprot, \
    input  wire        BUS``_arvalid, \
    output wire        BUS``_arready, \
    output wire [31:0] BUS``_rdata, \
    output wire [1:0]  BUS``_rresp, \
    output wire        BUS``_rvalid, \
    input  wire        BUS``_rready

// An engine's registers behind a host on the same chip, who reaches several engines by number: bit NUMBER of the vectors
// axil_awvalid and so on. The registers answer without errors, in whole words.
`define AXIL_JOIN(NUMBER) \
    .s_axil_awaddr(axil_addr), \
    .s_axil_awprot(3'b0), \
    .s_axil_awvalid(axil_awvalid[NUMBER]), \
    .s_axil_awready(axil_awready[NUMBER]), \
    .s_axil_wdata(axil_wdata), \
    .s_axil_wstrb(4'hF), \
    .s_axil_wvalid(axil_wvalid[NUMBER]), \
    .s_axil_wready(axil_wready[NUMBER]), \
    /* verilator lint_off PINCONNECTEMPTY */ .s_axil_bresp(), /* verilator lint_on PINCONNECTEMPTY */ \
    .s_axil_bvalid(axil_bvalid[NUMBER]), \
    .s_axil_bready(1'b1), \
    .s_axil_araddr(axil_addr), \
    .s_axil_arprot(3'b0), \
    .s_axil_arvalid(axil_arvalid[NUMBER]), \
    .s_axil_arready(axil_arready[NUMBER]), \
    .s_axil_rdata(axil_rdata[32*(NUMBER)+:32]), \
    /* verilator lint_off PINCONNECTEMPTY */ .s_axil_rresp(), /* verilator lint_on PINCONNECTEMPTY */ \
    .s_axil_rvalid(axil_rvalid[NUMBER]), \
    .s_axil_rready(1'b1)

// What stands for the registers of an engine that is not there: reads return 0.
`define AXIL_ABSENT(NUMBER) \
    assign axil_awready[NUMBER] = 1'b1; \
    assign axil_wready[NUMBER] = 1'b1; \
    assign axil_bvalid[NUMBER] = 1'b1; \
    assign axil_arready[NUMBER] = 1'b1; \
    assign axil_rvalid[NUMBER] = 1'b1; \
    assign axil_rdata[32*(NUMBER)+:32] = 32'b0;

// A stream of packets into a module, and out of it.
`define AXIS_IN(BUS, BITS) \
    input  wire [BITS-1:0]   BUS``_tdata, \
    input  wire [BITS/8-1:0] BUS``_tkeep, \
    input  wire              BUS``_tlast, \
    input  wire              BUS``_tvalid, \
    output wire              BUS``_tready

`define AXIS_OUT(BUS, BITS) \
    output wire [BITS-1:0]   BUS``_tdata, \
    output wire [BITS/8-1:0] BUS``_tkeep, \
    output wire              BUS``_tlast, \
    output wire              BUS``_tvalid, \
    input  wire              BUS``_tready

`define AXIS_JOIN(BUS, SIGNALS) \
    .BUS``_tdata(SIGNALS``_tdata), \
    .BUS``_tkeep(SIGNALS``_tkeep), \
    .BUS``_tlast(SIGNALS``_tlast), \
    .BUS``_tvalid(SIGNALS``_tvalid), \
    .BUS``_tready(SIGNALS``_tready)

// Reads of memory: AXI4. Lines are counted, so nobody looks at rlast.
`define AXI_READS(BUS, BITS) \
    output wire [63:0] BUS``_araddr, \
    output wire [7:0]  BUS``_arlen, \
    output wire [2:0]  BUS``_arsize, \
    output wire [1:0]  BUS``_arburst, \
    output wire        BUS``_arvalid, \
    input  wire        BUS``_arready, \
    input  wire [BITS-1:0] BUS``_rdata, \
    input  wire [1:0]  BUS``_rresp, \
    /* verilator lint_off UNUSEDSIGNAL */ \
    input  wire        BUS``_rlast, \
    /* verilator lint_on UNUSEDSIGNAL */ \
    input  wire        BUS``_rvalid, \
    output wire        BUS``_rready

`define AXI_READS_JOIN(BUS, SIGNALS) \
    .BUS``_araddr(SIGNALS``_araddr), \
    .BUS``_arlen(SIGNALS``_arlen), \
    .BUS``_arsize(SIGNALS``_arsize), \
    .BUS``_arburst(SIGNALS``_arburst), \
    .BUS``_arvalid(SIGNALS``_arvalid), \
    .BUS``_arready(SIGNALS``_arready), \
    .BUS``_rdata(SIGNALS``_rdata), \
    .BUS``_rresp(SIGNALS``_rresp), \
    .BUS``_rlast(SIGNALS``_rlast), \
    .BUS``_rvalid(SIGNALS``_rvalid), \
    .BUS``_rready(SIGNALS``_rready)

// Writes of memory: AXI4.
`define AXI_WRITES(BUS, BITS) \
    output wire [63:0] BUS``_awaddr, \
    output wire [7:0]  BUS``_awlen, \
    output wire [2:0]  BUS``_awsize, \
    output wire [1:0]  BUS``_awburst, \
    output wire        BUS``_awvalid, \
    input  wire        BUS``_awready, \
    output wire [BITS-1:0]   BUS``_wdata, \
    output wire [BITS/8-1:0] BUS``_wstrb, \
    output wire        BUS``_wlast, \
    output wire        BUS``_wvalid, \
    input  wire        BUS``_wready, \
    input  wire [1:0]  BUS``_bresp, \
    input  wire        BUS``_bvalid, \
    output wire        BUS``_bready
`endif
