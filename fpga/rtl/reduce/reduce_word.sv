// SPDX-License-Identifier: Apache-2.0
// The sum of words of 32 bits as int32, saturating int32, binary32, or two bfloat16; latency 2 and, for each level of the
// tree, 7, or 1 without formats of floating point.
//
// The order of the additions is ((0+1)+(2+3))+((4+5)+(6+7)); a word that is not present changes no sum, so that a smaller
// tree gives the same bits.
module reduce_word #(
    // Words: 2, 4 or 8.
    parameter INPUTS = 8,
    // 1: with the adders of the format; 0: without, where there are no such requests.
    parameter FLOAT32S = 1,
    parameter BFLOAT16S = 1
) (
    input  wire         clk,
    input  wire [  1:0] kind,      // of what goes in
    input  wire [INPUTS-1:0] present,
    input  wire [32*INPUTS-1:0] words,
    input  wire [  1:0] out_kind,  // the same, a cycle before the sum
    output reg  [ 31:0] sum
);
  if (INPUTS != 2 && INPUTS != 4 && INPUTS != 8) begin : wrong_INPUTS reduce_word_needs_INPUTS_of_2_or_4_or_8 refused (); end
  if (FLOAT32S != 0 && FLOAT32S != 1) begin : wrong_FLOAT32S reduce_word_needs_FLOAT32S_of_0_or_1 refused (); end
  if (BFLOAT16S != 0 && BFLOAT16S != 1) begin : wrong_BFLOAT16S reduce_word_needs_BFLOAT16S_of_0_or_1 refused (); end

  reg [32*INPUTS-1:0] low;   // binary32, or the lower bfloat16
  /* verilator lint_off UNUSEDSIGNAL */ reg [32*INPUTS-1:0] high; /* verilator lint_on UNUSEDSIGNAL */  // the upper bfloat16; unused with some parameters
  wire [(2*INPUTS-1)*35-1:0] node;  // of the tree of integers: the first go in, the last is the sum
  genvar n;
  generate
    for (n = 0; n < INPUTS; n = n + 1) begin : vectors
      /* verilator lint_off VARHIDDEN */ wire [31:0] word = words[n*32+:32]; /* verilator lint_on VARHIDDEN */  // hides the outer name on purpose
      reg signed [31:0] whole;
      always @(posedge clk) begin
        whole <= present[n] ? word : 32'b0;
        low[n*32+:32] <= !present[n] ? 32'h80000000 : kind == device_pkg::BFLOAT16 ? {word[15:0], 16'b0} : word;
        high[n*32+:32] <= !present[n] ? 32'h80000000 : {word[31:16], 16'b0};
      end
      assign node[n*35+:35] = {{3{whole[31]}}, whole};
    end
    for (n = 0; n < INPUTS - 1; n = n + 1) begin : additions
      reg [34:0] pair;
      wire [34:0] pair_sum;
      wire unused_carry;  // 35 bits hold the sum of eight
      wide_add #(
          .WIDTH(35)
      ) add (
          .a(node[2*n*35+:35]),
          .b(node[(2*n+1)*35+:35]),
          .sum({unused_carry, pair_sum})
      );
      always @(posedge clk) pair <= pair_sum;
      assign node[(INPUTS+n)*35+:35] = pair;
    end
  endgenerate

  wire [31:0] low_sum, high_sum;
  generate
    if (FLOAT32S || BFLOAT16S) begin : floats
      reduce_floats #(
          .COUNT(INPUTS)
      ) lower (
          .clk(clk),
          .words(low),
          .sum(low_sum)
      );
    end else begin : no_floats
      assign low_sum = 32'b0;
    end
    if (BFLOAT16S) begin : halves
      reduce_floats #(
          .COUNT(INPUTS)
      ) upper (
          .clk(clk),
          .words(high),
          .sum(high_sum)
      );
    end else begin : wholes
      assign high_sum = 32'b0;
    end
  endgenerate

  wire [34:0] integer_sum;
  generate
    if (FLOAT32S || BFLOAT16S) begin : waits
      delay #(
          .WIDTH (35),
          .CYCLES(6 * $clog2(INPUTS))
      ) integers (
          .clk(clk),
          .in (node[(2*INPUTS-2)*35+:35]),
          .out(integer_sum)
      );
    end else begin : waits_not
      assign integer_sum = node[(2*INPUTS-2)*35+:35];
    end
  endgenerate

  // Rounded to nearest even; the quiet NaN and infinity stay unchanged.
  function [15:0] bfloat16(input [31:0] x);
    bfloat16 = x[31:16] + (x[15] && (x[16] || x[14:0] != 0));
  endfunction

  wire fits = &integer_sum[34:31] || !(|integer_sum[34:31]);
  always @(posedge clk)
    case (out_kind)
      device_pkg::BFLOAT16: sum <= {bfloat16(high_sum), bfloat16(low_sum)};
      device_pkg::FLOAT32:  sum <= low_sum;
      device_pkg::FIXED:    sum <= fits ? integer_sum[31:0] : {integer_sum[34], {31{!integer_sum[34]}}};
      default:  sum <= integer_sum[31:0];
    endcase
endmodule
