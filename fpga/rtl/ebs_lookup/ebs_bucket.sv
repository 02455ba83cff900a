// SPDX-License-Identifier: Apache-2.0
// A volume's token bucket: credits the time since the last read, and takes the tokens of this one if they are there. Six
// cycles; never stalls, so whoever feeds it has room for what comes out.
module ebs_bucket #(
    // Bits that travel along.
    parameter ITEM = 8
) (
    input  wire            clk,
    input  wire            rst,
    input  wire [ITEM-1:0] in_item,
    input  wire [    63:0] in_tick,
    input  wire [    63:0] in_last,
    input  wire [    31:0] in_rate,
    input  wire [    63:0] in_burst,
    input  wire [    63:0] in_tokens,
    input  wire [    63:0] in_wanted,
    input  wire            in_valid,
    output wire [ITEM-1:0] out_item,
    output reg             out_enough,
    output reg  [    63:0] out_tokens,  // what is left
    output reg  [    63:0] out_tick,
    output wire            out_valid
);
  localparam CYCLES = 6;

  reg [CYCLES-1:0] moving;
  assign out_valid = moving[CYCLES-1];
  always @(posedge clk) moving <= rst ? {CYCLES{1'b0}} : {moving[CYCLES-2:0], in_valid};

  delay #(.WIDTH(ITEM), .CYCLES(CYCLES)) along (.clk(clk), .in(in_item), .out(out_item));

  // 1: the time that has passed, which never runs back
  reg [63:0] passed, now;
  reg [31:0] rate;
  always @(posedge clk) begin
    passed <= in_tick > in_last ? in_tick - in_last : 64'b0;
    now    <= in_tick > in_last ? in_tick : in_last;
    rate   <= in_rate;
  end

  // 2 to 4: times the rate; registers for a multiplier to move into
  reg [31:0] counted, rate_2;
  reg [63:0] product, credit;
  always @(posedge clk) begin
    counted <= |passed[63:32] ? 32'hFFFFFFFF : passed[31:0];
    rate_2  <= rate;
    product <= counted * rate_2;
    credit  <= product;
  end

  wire [63:0] burst_5, tokens_5, wanted_6, now_6;
  delay #(.WIDTH(128), .CYCLES(4)) held (.clk(clk), .in({in_burst, in_tokens}), .out({burst_5, tokens_5}));
  delay #(.WIDTH(64), .CYCLES(5)) asked (.clk(clk), .in(in_wanted), .out(wanted_6));
  delay #(.WIDTH(64), .CYCLES(4)) clock (.clk(clk), .in(now), .out(now_6));

  // 5: no more than a burst
  reg [63:0] full;
  wire [64:0] sum = {1'b0, tokens_5} + {1'b0, credit};
  always @(posedge clk) full <= sum > {1'b0, burst_5} ? burst_5 : sum[63:0];

  // 6: less what this read takes
  always @(posedge clk) begin
    out_enough <= full >= wanted_6;
    out_tokens <= full - wanted_6;
    out_tick   <= now_6;
  end
endmodule
