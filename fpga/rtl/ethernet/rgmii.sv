// SPDX-License-Identifier: Apache-2.0
// RGMII at 1 Gbit/s (HP, version 1.3) from and to GMII. The PHY's receive clock is the transmit clock, too: the far end
// accounts for its deviation. The PHY shifts clocks against data (RGMII-ID), or the board's pins do.
module rgmii #(
    // Steps of the chip's delay for what comes, and for the clock that goes.
    parameter RX_DELAY = 0,
    parameter TX_DELAY = 0
) (
    input  wire       rxc,
    input  wire       rx_ctl,
    input  wire [3:0] rd,
    output wire       txc,
    output wire       tx_ctl,
    output wire [3:0] td,
    output wire [7:0] rxd,
    output wire       rx_dv,
    output wire       rx_er,
    input  wire [7:0] txd,
    input  wire       tx_en,
    input  wire       tx_er
);
  wire error;
  ddr_in #(.DELAY(RX_DELAY)) control_in (
      .clk(rxc),
      .pin(rx_ctl),
      .first(rx_dv),
      .second(error)
  );
  assign rx_er = rx_dv ^ error;

  ddr_out #(.DELAY(TX_DELAY)) clock_out (
      .clk(rxc),
      .first(1'b1),
      .second(1'b0),
      .pin(txc)
  );
  ddr_out control_out (
      .clk(rxc),
      .first(tx_en),
      .second(tx_en ^ tx_er),
      .pin(tx_ctl)
  );

  genvar i;
  generate
    for (i = 0; i < 4; i = i + 1) begin : lanes
      ddr_in #(.DELAY(RX_DELAY)) in (
          .clk(rxc),
          .pin(rd[i]),
          .first(rxd[i]),
          .second(rxd[i+4])
      );
      ddr_out out (
          .clk(rxc),
          .first(txd[i]),
          .second(txd[i+4]),
          .pin(td[i])
      );
    end
  endgenerate
endmodule
