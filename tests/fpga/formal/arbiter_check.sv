// SPDX-License-Identifier: Apache-2.0
// The arbiter: one grant, to who asked, that stands until it is taken; who asks waits for every other one at most once.
module arbiter_check #(
    parameter COUNT = 4
) (
    input wire             clk,
    input wire             rst,
    input wire [COUNT-1:0] request,
    input wire             taken,
    input wire [COUNT-1:0] who
);
  wire [COUNT-1:0] grant;
  wire valid;
  arbiter #(COUNT) arbiter (clk, rst, request, grant, valid, taken);

  reg started = 1'b0, stands = 1'b0;
  reg [COUNT-1:0] earlier, watched;
  reg [3:0] waited;  // grants of others since the watched one asked
  always @(posedge clk) begin
    started <= 1'b1;
    stands  <= valid && !taken && !rst;
    earlier <= grant;
    watched <= started ? watched : who;
    waited  <= rst || !(request & watched) || (grant & watched) ? 4'd0 : waited + (valid && taken);
  end

  always @* begin
    if (!started) assume (rst && who != 0 && (who & (who - 1'b1)) == 0);
    if (started && !rst) begin
      assert (valid == (request != 0));
      assert ((grant != 0) == valid);
      assert ((grant & (grant - 1'b1)) == 0);
      assert ((grant & ~request) == 0);
      if (stands && (earlier & request)) assert (grant == earlier);
      assert (waited < COUNT);
      if (waited == COUNT - 1 && (request & watched)) assert (grant == watched);
    end
  end
endmodule
