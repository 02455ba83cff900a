// SPDX-License-Identifier: Apache-2.0
// The demonstrator on a ULX3S with an ECP5 85k: 25 MHz, serial line of 1 Mbit/s over the board's USB port.
module ulx3s (
    input  wire       clk_25mhz,
    input  wire       ftdi_txd,
    output wire       ftdi_rxd,
    output wire       wifi_gpio0,
    output wire [7:0] led
);
  // Reset for the first cycles after configuration.
  reg [4:0] count = 0;
  wire rst = !count[4];
  always @(posedge clk_25mhz) if (rst) count <= count + 1'b1;

  demonstrator #(
      .DIVISOR(25)
  ) demo (
      .clk(clk_25mhz),
      .rst(rst),
      .rx (ftdi_txd),
      .tx (ftdi_rxd)
  );

  assign wifi_gpio0 = 1'b1;  // keeps the board's ESP32 from resetting it
  assign led = {6'b0, !ftdi_txd, !ftdi_rxd};
endmodule
