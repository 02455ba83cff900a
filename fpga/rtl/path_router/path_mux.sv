// SPDX-License-Identifier: Apache-2.0
// Selects one of COUNT beats. As a module of its own, synthesis leaves the choice outside: a bit of two beats has three
// inputs.
(* keep_hierarchy *)
module path_mux #(
    // Bits of a beat, and beats, 1 or more.
    parameter WIDTH = 577,
    parameter COUNT = 2,
    // Beats that can be selected, one bit each; the first of them needs no condition.
    parameter [COUNT-1:0] USED = {COUNT{1'b1}}
) (
    input  wire [COUNT*WIDTH-1:0] from_data,
    input  wire [      COUNT-1:0] choice,     // one-hot
    output reg  [      WIDTH-1:0] data
);
  if (WIDTH < 1) begin : wrong_WIDTH path_mux_needs_WIDTH_of_1_or_more refused (); end
  if (COUNT < 1) begin : wrong_COUNT path_mux_needs_COUNT_of_1_or_more refused (); end

  function integer first_used(input [COUNT-1:0] used);
    integer j;
    begin
      first_used = 0;
      for (j = COUNT - 1; j >= 0; j = j - 1) if (used[j]) first_used = j;
    end
  endfunction
  localparam FIRST = first_used(USED);

  integer i;
  always @* begin
    data = from_data[FIRST*WIDTH+:WIDTH];
    for (i = FIRST + 1; i < COUNT; i = i + 1) if (USED[i] && choice[i]) data = from_data[i*WIDTH+:WIDTH];
  end
endmodule
