// SPDX-License-Identifier: Apache-2.0
// Checks frames from the CMAC's user interface (AMD PG203): 64 bytes a beat, without preamble and check sequence. Of a
// frame that is too long no beat comes behind the longest one's but its last. A frame that the link's reset cuts off ends
// there, as a corrupt one.
module cmac_rx #(
    // Bytes of the longest and of the shortest frame, without their check sequences: no multiple of 64, and 1 to 64.
    parameter [15:0] MOST  = 1514,
    parameter [15:0] LEAST = 60
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         cut,            // the CMAC's receiver is in reset
    input  wire [511:0] rx_axis_tdata,
    input  wire [ 63:0] rx_axis_tkeep,  // from the first byte on, all but in the last beat
    input  wire         rx_axis_tlast,
    input  wire         rx_axis_tuser,  // with the last beat: the frame is bad
    input  wire         rx_axis_tvalid,
    output reg  [511:0] out_data,
    output reg  [  5:0] out_count,      // bytes of the beat - 1
    output reg          out_last,
    output reg  [  2:0] out_fault,      // of the frame, with its last beat: ethernet_pkg
    output reg          out_valid
);
  if (MOST % 64 == 0) begin : wrong_MOST cmac_rx_needs_MOST_no_multiple_of_64 refused (); end
  if (LEAST < 1 || LEAST > 64) begin : wrong_LEAST cmac_rx_needs_LEAST_from_1_to_64 refused (); end

  localparam [9:0] BEATS = MOST[15:6];  // whole ones of the longest frame
  localparam [5:0] REST = MOST[5:0];  // bytes of the beat behind them
  localparam [5:0] SHORTEST = LEAST[5:0] - 1'b1;

  // As it came, away from the CMAC.
  reg [511:0] data;
  reg [63:0] keep;
  reg last, bad, valid, gone;

  // The number of the last valid byte.
  wire [63:0] edges = keep & ~(keep >> 1);
  reg [5:0] count;
  integer i, j;
  always @* begin
    count = 6'd0;
    for (i = 0; i < 6; i = i + 1) for (j = 0; j < 64; j = j + 1) if (((j >> i) & 1) != 0) count[i] = count[i] | edges[j];
  end

  reg begun;  // a frame, which has not ended
  reg [9:0] beats;  // of it so far, BEATS + 1 for all beyond
  wire severed = gone && begun;
  wire beyond = beats == BEATS + 1'b1;
  wire too_long = beyond || beats == BEATS && (!last || count >= REST);
  wire too_short = !begun && count < SHORTEST;

  always @(posedge clk) begin
    data  <= rx_axis_tdata;
    keep  <= rx_axis_tkeep;
    last  <= rx_axis_tlast;
    bad   <= rx_axis_tuser;
    valid <= rx_axis_tvalid && !cut && !rst;
    gone  <= cut;

    out_data  <= data;
    out_count <= gone ? 6'd0 : count;  // behind a frame that is cut off there may be no value
    out_last  <= last || gone;
    out_fault <= gone ? ethernet_pkg::CORRUPT : too_long ? ethernet_pkg::JUMBO : too_short ? ethernet_pkg::RUNT
        : bad ? ethernet_pkg::CORRUPT : ethernet_pkg::NONE;
    out_valid <= !rst && (severed || valid && (last || !too_long));
    if (rst || severed || valid && last) begin
      begun <= 1'b0;
      beats <= 0;
    end else if (valid) begin
      begun <= 1'b1;
      if (!beyond) beats <= beats + 1'b1;
    end
  end
endmodule
