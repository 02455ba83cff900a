// The sum of eight words of 32 bits as int32, saturating int32, binary32, or two bfloat16; latency 17.
//
// The order of the additions is ((0+1)+(2+3))+((4+5)+(6+7)); a word that is not present changes no sum.
module reduce_word #(
    // 1: with the adders of the upper bfloat16; 0: without, where there are no such requests.
    parameter BFLOAT16S = 1
) (
    input  wire         clk,
    input  wire [  1:0] kind,      // of what goes in
    input  wire [  7:0] present,
    input  wire [255:0] words,
    input  wire [  1:0] out_kind,  // the same 16 cycles later
    output reg  [ 31:0] sum
);
  localparam [1:0] FIXED = 1, FLOAT32 = 2, BFLOAT16 = 3;

  reg [255:0] low;   // binary32, or the lower bfloat16
  reg [255:0] high;  // the upper bfloat16
  wire [15*35-1:0] node;  // of the tree of integers: 0 to 7 go in, 14 is the sum
  genvar n;
  generate
    for (n = 0; n < 8; n = n + 1) begin : vectors
      wire [31:0] word = words[n*32+:32];
      reg signed [31:0] whole;
      always @(posedge clk) begin
        whole <= present[n] ? word : 32'b0;
        low[n*32+:32] <= !present[n] ? 32'h80000000 : kind == BFLOAT16 ? {word[15:0], 16'b0} : word;
        high[n*32+:32] <= !present[n] ? 32'h80000000 : {word[31:16], 16'b0};
      end
      assign node[n*35+:35] = {{3{whole[31]}}, whole};
    end
    for (n = 0; n < 7; n = n + 1) begin : additions
      reg [34:0] pair;
      always @(posedge clk) pair <= node[2*n*35+:35] + node[(2*n+1)*35+:35];
      assign node[(8+n)*35+:35] = pair;
    end
  endgenerate

  wire [31:0] low_sum, high_sum;
  reduce_floats lower (
      .clk(clk),
      .words(low),
      .sum(low_sum)
  );
  generate
    if (BFLOAT16S) begin : halves
      reduce_floats upper (
          .clk(clk),
          .words(high),
          .sum(high_sum)
      );
    end else begin : wholes
      assign high_sum = 32'b0;
    end
  endgenerate

  wire [34:0] integer_sum;
  delay #(
      .WIDTH (35),
      .CYCLES(12)
  ) integers (
      .clk(clk),
      .in (node[14*35+:35]),
      .out(integer_sum)
  );

  // Rounded to nearest even; the quiet NaN and infinity stay what they are.
  function [15:0] bfloat16(input [31:0] x);
    bfloat16 = x[31:16] + (x[15] && (x[16] || x[14:0] != 0));
  endfunction

  wire fits = &integer_sum[34:31] || !(|integer_sum[34:31]);
  always @(posedge clk)
    case (out_kind)
      BFLOAT16: sum <= {bfloat16(high_sum), bfloat16(low_sum)};
      FLOAT32:  sum <= low_sum;
      FIXED:    sum <= fits ? integer_sum[31:0] : {integer_sum[34], {31{!integer_sum[34]}}};
      default:  sum <= integer_sum[31:0];
    endcase
endmodule
