// SPDX-License-Identifier: Apache-2.0
// Input of a port: a packet's first beat decides where all of it goes; packets without a route are dropped.
module path_in #(
    // Bits of a beat, 1 or more.
    parameter WIDTH = 585,
    // Parameters of path_way.
    parameter [2:0] MODELS = 3'b111,
    parameter PORT = 0
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [      1:0] model,
    input  wire [WIDTH-1:0] beat,
    input  wire             last,
    input  wire [      1:0] destination,
    input  wire             valid,
    output wire             ready,
    output wire [WIDTH-1:0] to_data,
    output wire [      3:0] to_valid,     // a bit for each port on which packets leave
    input  wire [      3:0] to_ready,
    output wire             refused       // a packet ended that had nowhere to go
);
  if (WIDTH < 1) begin : wrong_WIDTH path_in_needs_WIDTH_of_1_or_more refused (); end

  wire [3:0] first;
  reg [3:0] later;
  reg begun;

  path_way #(
      .MODELS(MODELS),
      .PORT  (PORT)
  ) decide (
      .*,
      .way(first)
  );

  wire [3:0] way = begun ? later : first;

  assign to_data  = beat;
  assign to_valid = valid ? way : 4'b0;
  assign ready    = valid && (way == 0 || (way & to_ready) != 0);  // no destination without a beat
  assign refused  = valid && last && way == 0;

  always @(posedge clk) begin
    if (valid && ready) later <= way;
    if (rst) begun <= 1'b0;
    else if (valid && ready) begun <= !last;
  end
endmodule
