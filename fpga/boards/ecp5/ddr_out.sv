// SPDX-License-Identifier: Apache-2.0
// A pin that changes at both edges, through ECP5's output register (FPGA-TN-02035), DELAY steps of about 25 ps later.
module ddr_out #(
    // 0 to 127.
    parameter DELAY = 0
) (
    input  wire clk,
    input  wire first,
    input  wire second,
    output wire pin
);
  if (DELAY < 0 || DELAY > 127) begin : wrong_DELAY ddr_out_needs_DELAY_from_0_to_127 refused (); end

  wire early;
  ODDRX1F register (
      .D0(first),
      .D1(second),
      .SCLK(clk),
      .RST(1'b0),
      .Q(early)
  );
  DELAYG #(
      .DEL_MODE ("SCLK_ALIGNED"),
      .DEL_VALUE(DELAY)
  ) delay (
      .A(early),
      .Z(pin)
  );
endmodule
