// SPDX-License-Identifier: Apache-2.0
// A pin that changes at both edges, through ECP5's input register (FPGA-TN-02035), DELAY steps of about 25 ps later.
module ddr_in #(
    // 0 to 127.
    parameter DELAY = 0
) (
    input  wire clk,
    input  wire pin,
    output wire first,
    output wire second
);
  if (DELAY < 0 || DELAY > 127) begin : wrong_DELAY ddr_in_needs_DELAY_from_0_to_127 refused (); end

  wire late;
  DELAYG #(
      .DEL_MODE ("SCLK_ALIGNED"),
      .DEL_VALUE(DELAY)
  ) delay (
      .A(pin),
      .Z(late)
  );
  IDDRX1F register (
      .D(late),
      .SCLK(clk),
      .RST(1'b0),
      .Q0(first),
      .Q1(second)
  );
endmodule
