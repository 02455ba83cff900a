// SPDX-License-Identifier: Apache-2.0
// Cuts a run of lines into AXI4 bursts: none longer than BURST lines, none over a boundary of 4 KiB.
module dma_burst #(
    // Bits of a line.
    parameter WIDTH = 512,
    // Lines of a burst at most, up to 256.
    parameter BURST = 16
) (
    input  wire [63:0] address,  // of the next line
    input  wire [32:0] left,     // lines
    output wire [ 8:0] lines     // of the next burst
);
  localparam LINE = $clog2(WIDTH / 8);
  localparam PAGE = 4096 >> LINE;

  wire [12-LINE:0] to_page = PAGE - address[11:LINE];
  wire [8:0] whole = to_page > BURST ? BURST : to_page;
  assign lines = left > whole ? whole : left[8:0];
endmodule
