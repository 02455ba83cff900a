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

  // Those above the lowest that is set; by ORs, which are less deep for so few than a carry.
  function [COUNT-1:0] behind(input [COUNT-1:0] some);
    integer i;
    begin
      behind[0] = 1'b0;
      for (i = 1; i < COUNT; i = i + 1) behind[i] = behind[i-1] | some[i-1];
    end
  endfunction

  wire [COUNT-1:0] preferred = request & above;
  wire [COUNT-1:0] first = preferred & ~behind(preferred);
  wire [COUNT-1:0] any = request & ~behind(request);
  wire [COUNT-1:0] held = locked & request;

  assign grant = |held ? held : |preferred ? first : any;
  assign valid = |request;

  always @(posedge clk) begin
    if (rst) begin
      above  <= {COUNT{1'b0}};
      locked <= {COUNT{1'b0}};
    end else begin
      locked <= valid && !taken ? grant : {COUNT{1'b0}};
      if (valid && taken) above <= behind(grant);
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
