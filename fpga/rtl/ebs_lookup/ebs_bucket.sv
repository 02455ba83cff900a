// SPDX-License-Identifier: Apache-2.0
// A volume's token bucket: credits the time since the last read, and takes the tokens of this one if they are there.
// Nine cycles; never stalls, so its source must have room for the output.
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
  localparam CYCLES = 9;

  reg [CYCLES-1:0] moving;
  assign out_valid = moving[CYCLES-1];
  always @(posedge clk) moving <= rst ? {CYCLES{1'b0}} : {moving[CYCLES-2:0], in_valid};

  delay #(.WIDTH(ITEM), .CYCLES(CYCLES)) along (.clk(clk), .in(in_item), .out(out_item));

  // 1: the time that has passed, which never runs back
  reg [63:0] passed, now;
  reg [31:0] rate;
  wire [63:0] since;
  wire back;
  wide_subtract elapsed (
      .a(in_tick),
      .b(in_last),
      .difference(since),
      .borrow(back)
  );
  always @(posedge clk) begin
    passed <= back ? 64'b0 : since;
    now    <= back ? in_last : in_tick;
    rate   <= in_rate;
  end

  // 2: not more of it than a multiplier takes
  reg [31:0] counted, rate_2;
  always @(posedge clk) begin
    counted <= |passed[63:32] ? 32'hFFFFFFFF : passed[31:0];
    rate_2  <= rate;
  end

  // 3 to 6: times the rate, as four products of halves; registers before and two behind, which multipliers have inside
  reg [31:0] low_3, cross_3, across_3, high_3, low_4, cross_4, across_4, high_4, low_5, high_5;
  reg [32:0] middle_5;
  reg [63:0] credit;
  /* verilator lint_off UNUSEDSIGNAL */ wire [48:0] upper; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  wide_add #(
      .WIDTH(48)
  ) products (
      .a({high_5, low_5[31:16]}),
      .b({15'b0, middle_5}),
      .sum(upper)
  );
  always @(posedge clk) begin
    low_3    <= counted[15:0] * rate_2[15:0];
    cross_3  <= counted[15:0] * rate_2[31:16];
    across_3 <= counted[31:16] * rate_2[15:0];
    high_3   <= counted[31:16] * rate_2[31:16];
    {low_4, cross_4, across_4, high_4} <= {low_3, cross_3, across_3, high_3};
    {low_5, high_5} <= {low_4, high_4};
    middle_5 <= {1'b0, cross_4} + {1'b0, across_4};
    credit   <= {upper[47:0], low_5[15:0]};  // a product of 32 bits and 32 bits has no more than 64
  end

  wire [63:0] burst_8, tokens_7, wanted_9, now_9;
  delay #(.WIDTH(64), .CYCLES(6)) held (.clk(clk), .in(in_tokens), .out(tokens_7));
  delay #(.WIDTH(64), .CYCLES(7)) limits (.clk(clk), .in(in_burst), .out(burst_8));
  delay #(.WIDTH(64), .CYCLES(8)) asked (.clk(clk), .in(in_wanted), .out(wanted_9));
  delay #(.WIDTH(64), .CYCLES(7)) clock (.clk(clk), .in(now), .out(now_9));

  // 7: what there would be
  reg [64:0] sum_7;
  wire [64:0] sum;
  wide_add credited (
      .a(tokens_7),
      .b(credit),
      .sum(sum)
  );
  always @(posedge clk) sum_7 <= sum;

  // 8: no more than a burst
  reg [63:0] full;
  wire [63:0] unused_room;
  wire over;
  wide_subtract topped (
      .a(burst_8),
      .b(sum_7[63:0]),
      .difference(unused_room),
      .borrow(over)
  );
  always @(posedge clk) full <= sum_7[64] || over ? burst_8 : sum_7[63:0];

  // 9: less what this read takes
  wire [63:0] left;
  wire lacking;
  wide_subtract charged (
      .a(full),
      .b(wanted_9),
      .difference(left),
      .borrow(lacking)
  );
  always @(posedge clk) begin
    out_enough <= !lacking;
    out_tokens <= left;
    out_tick   <= now_9;
  end
endmodule
