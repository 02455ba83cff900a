// The sum of eight binary32 numbers as a balanced tree; latency 15.
module reduce_floats (
    input  wire         clk,
    input  wire [255:0] words,
    output wire [ 31:0] sum
);
  wire [15*32-1:0] node;  // 0 to 7 go in, 8 to 13 lie between, 14 is the sum
  assign node[255:0] = words;
  assign sum = node[14*32+:32];

  genvar n;
  generate
    for (n = 0; n < 7; n = n + 1) begin : adders
      fp32_add add (
          .clk(clk),
          .a  (node[2*n*32+:32]),
          .b  (node[(2*n+1)*32+:32]),
          .sum(node[(8+n)*32+:32])
      );
    end
  endgenerate
endmodule
