// SPDX-License-Identifier: Apache-2.0
// Carries a count of events to another clock domain: each event is counted once, several at a time.
module tally_crossing #(
    // Bits of a number that crosses, 3 or more: enough for the events of six cycles of the slower clock.
    parameter WIDTH = 8
) (
    input  wire             in_clk,
    input  wire             in_rst,
    input  wire             in_event,
    input  wire             out_clk,
    input  wire             out_rst,
    output wire [WIDTH-1:0] out_count  // events that this cycle reports
);
  if (WIDTH < 3) begin : wrong_WIDTH tally_crossing_needs_WIDTH_of_3_or_more refused (); end

  reg [WIDTH-1:0] owed;
  wire ready, valid;
  wire [WIDTH-1:0] arrived;
  wire sends = ready && owed != 0;
  assign out_count = valid ? arrived : {WIDTH{1'b0}};

  always @(posedge in_clk) owed <= in_rst ? {WIDTH{1'b0}} : (sends ? {WIDTH{1'b0}} : owed) + {{WIDTH - 1{1'b0}}, in_event};

  async_fifo #(
      .WIDTH(WIDTH),
      .DEPTH(4)
  ) numbers (
      .*,
      .in_data(owed),
      .in_valid(sends),
      .in_ready(ready),
      .out_data(arrived),
      .out_valid(valid),
      .out_ready(1'b1)
  );

`ifndef SYNTHESIS
  always @(posedge in_clk) if (!in_rst) assert (!(&owed && in_event && !sends));
`endif
endmodule
