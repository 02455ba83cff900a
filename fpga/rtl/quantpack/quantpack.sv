// SPDX-License-Identifier: Apache-2.0
// Sylvie's quantiser with registers: rows of binary32 as packed codes, and back, each way a beat of values in every cycle.
// `quantise` and `dequantise` have the packets.
`include "axi.svh"
module quantpack #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH = 512,
    // Beats of a row's values that fit, a power of two, 64 or more for a beat a cycle; 32768 values or less.
    parameter DEPTH = 512
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis_values, WIDTH),
    `AXIS_OUT(m_axis_codes, WIDTH),
    `AXIS_IN(s_axis_codes, WIDTH),
    `AXIS_OUT(m_axis_values, WIDTH)
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
      `AXIS_JOIN(s_axis, s_axis_values),
      `AXIS_JOIN(m_axis, m_axis_codes)
  );

  dequantise #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) back (
      .*,
      .idle(back_idle),
      .ended(back_ended),
      .faulty(back_faulty),
      `AXIS_JOIN(s_axis, s_axis_codes),
      `AXIS_JOIN(m_axis, m_axis_values)
  );
endmodule
