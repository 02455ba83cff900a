// SPDX-License-Identifier: Apache-2.0
// Sylvie's quantiser with registers: rows of binary32 as packed codes, and back, each way a beat of values in every cycle.
// `quantise` and `dequantise` have the packets.
module quantpack #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH = 512,
    // Beats of a row's values that fit, a power of two, 64 or more for a beat a cycle; 32768 values or less.
    parameter DEPTH = 512
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
    input  wire [  WIDTH-1:0] s_axis_values_tdata,
    input  wire [WIDTH/8-1:0] s_axis_values_tkeep,
    input  wire               s_axis_values_tlast,
    input  wire               s_axis_values_tvalid,
    output wire               s_axis_values_tready,
    output wire [  WIDTH-1:0] m_axis_codes_tdata,
    output wire [WIDTH/8-1:0] m_axis_codes_tkeep,
    output wire               m_axis_codes_tlast,
    output wire               m_axis_codes_tvalid,
    input  wire               m_axis_codes_tready,
    input  wire [  WIDTH-1:0] s_axis_codes_tdata,
    input  wire [WIDTH/8-1:0] s_axis_codes_tkeep,
    input  wire               s_axis_codes_tlast,
    input  wire               s_axis_codes_tvalid,
    output wire               s_axis_codes_tready,
    output wire [  WIDTH-1:0] m_axis_values_tdata,
    output wire [WIDTH/8-1:0] m_axis_values_tkeep,
    output wire               m_axis_values_tlast,
    output wire               m_axis_values_tvalid,
    input  wire               m_axis_values_tready
);
  wire cancel, there_idle, there_ended, there_faulty, back_idle, back_ended, back_faulty;
  reg [31:0] quantised, dequantised, faults;
  always @(posedge clk)
    if (rst) begin
      quantised   <= 0;
      dequantised <= 0;
      faults      <= 0;
    end else begin
      quantised   <= quantised + there_ended;
      dequantised <= dequantised + back_ended;
      faults      <= faults + there_faulty + back_faulty;
    end

  quantpack_regs regs (
      .*,
      .hwif_out_control_abort(cancel),
      .hwif_in_status_busy(!there_idle || !back_idle),
      .hwif_in_columns_value(DEPTH * (WIDTH / 32)),
      .hwif_in_lanes_value(WIDTH / 8),
      .hwif_in_quantised_value(quantised),
      .hwif_in_dequantised_value(dequantised),
      .hwif_in_faults_value(faults)
  );

  quantise #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) there (
      .*,
      .idle(there_idle),
      .ended(there_ended),
      .faulty(there_faulty),
      .s_axis_tdata(s_axis_values_tdata),
      .s_axis_tkeep(s_axis_values_tkeep),
      .s_axis_tlast(s_axis_values_tlast),
      .s_axis_tvalid(s_axis_values_tvalid),
      .s_axis_tready(s_axis_values_tready),
      .m_axis_tdata(m_axis_codes_tdata),
      .m_axis_tkeep(m_axis_codes_tkeep),
      .m_axis_tlast(m_axis_codes_tlast),
      .m_axis_tvalid(m_axis_codes_tvalid),
      .m_axis_tready(m_axis_codes_tready)
  );

  dequantise #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) back (
      .*,
      .idle(back_idle),
      .ended(back_ended),
      .faulty(back_faulty),
      .s_axis_tdata(s_axis_codes_tdata),
      .s_axis_tkeep(s_axis_codes_tkeep),
      .s_axis_tlast(s_axis_codes_tlast),
      .s_axis_tvalid(s_axis_codes_tvalid),
      .s_axis_tready(s_axis_codes_tready),
      .m_axis_tdata(m_axis_values_tdata),
      .m_axis_tkeep(m_axis_values_tkeep),
      .m_axis_tlast(m_axis_values_tlast),
      .m_axis_tvalid(m_axis_values_tvalid),
      .m_axis_tready(m_axis_values_tready)
  );

`ifndef SYNTHESIS
  initial if (DEPTH < 2 || DEPTH * (WIDTH / 32) > 32768 || DEPTH != 1 << $clog2(DEPTH)) $fatal(1, "quantpack: DEPTH %0d", DEPTH);
`endif
endmodule
