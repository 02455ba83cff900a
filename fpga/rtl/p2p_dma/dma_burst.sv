// SPDX-License-Identifier: Apache-2.0
// Cuts a run of lines into AXI4 bursts: none longer than BURST lines, none over a boundary of 4 KiB. A burst is measured in
// the cycle before it is offered.
module dma_burst #(
    // Bits of a line, a power of two, 128 to 1024.
    parameter WIDTH = 512,
    // Lines of a burst at most, 1 to 256.
    parameter BURST = 16
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        load,     // a run of one line or more begins
    input  wire [63:0] first,    // its address
    input  wire [32:0] count,    // lines
    output reg  [63:0] address,  // of the burst
    output reg  [ 8:0] lines,    // in it
    output reg         valid,
    input  wire        taken,
    output wire        over      // no line is left
);
  if (WIDTH < 128 || WIDTH > 1024 || (WIDTH & (WIDTH - 1)) != 0) begin : wrong_WIDTH dma_burst_needs_WIDTH_a_power_of_two_128_to_1024 refused (); end
  if (BURST < 1 || BURST > 256) begin : wrong_BURST dma_burst_needs_BURST_from_1_to_256 refused (); end

  localparam LINE = $clog2(WIDTH / 8);
  localparam PAGE = 4096 >> LINE;

  reg [32:0] left;
  assign over = left == 0;

  /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ wire [12-LINE:0] to_page = PAGE - address[11:LINE]; /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // zero-extended; the value fits
  wire [8:0] whole = to_page > BURST ? BURST : {{LINE - 4{1'b0}}, to_page};
  wire more = |left[32:9] || left[8:0] > whole;

  wire [63:0] behind;
  wire unused_carry;  // a run lies within a memory
  wide_add next (
      .a(address),
      .b({{55 - LINE{1'b0}}, lines, {LINE{1'b0}}}),
      .sum({unused_carry, behind})
  );

  always @(posedge clk) begin
    if (load) address <= first;
    else if (taken) address <= behind;
    if (rst) left <= 0;
    else if (load) left <= count;
    else if (taken) left <= left - {24'b0, lines};
    if (!valid) lines <= more ? whole : left[8:0];
    if (rst) valid <= 1'b0;
    else if (valid) valid <= !taken;
    else valid <= !load && !over;
  end
endmodule
