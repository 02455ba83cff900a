// SPDX-License-Identifier: Apache-2.0
// Round robin: grants one of the requests, the next above the last that was taken; a grant stands until it is taken.
module arbiter #(
    // Requesters, 2 or more.
    parameter COUNT = 4
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [        COUNT-1:0] request,
    output wire [        COUNT-1:0] grant,
    output wire                     valid,
    input  wire                     taken
);
  if (COUNT < 2) begin : wrong_COUNT arbiter_needs_COUNT_of_2_or_more refused (); end

  reg [COUNT-1:0] above;   // requesters whose turn comes before the others'
  reg [COUNT-1:0] locked;  // an untaken grant

  wire [COUNT-1:0] preferred = request & above;
  wire [COUNT-1:0] first = preferred & (~preferred + 1'b1);
  wire [COUNT-1:0] any = request & (~request + 1'b1);
  wire [COUNT-1:0] held = locked & request;

  assign grant = |held ? held : |preferred ? first : any;
  assign valid = |request;

  always @(posedge clk) begin
    if (rst) begin
      above  <= {COUNT{1'b0}};
      locked <= {COUNT{1'b0}};
    end else begin
      locked <= valid && !taken ? grant : {COUNT{1'b0}};
      if (valid && taken) above <= ~(grant | (grant - 1'b1));
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk)
    if (!rst) begin
      assert ((grant & (grant - 1'b1)) == 0);
      assert ((grant & ~request) == 0);
      assert (valid == |grant);
    end
`endif
endmodule
