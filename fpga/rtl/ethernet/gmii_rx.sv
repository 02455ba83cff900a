// SPDX-License-Identifier: Apache-2.0
// Frames from GMII (IEEE 802.3, 35.2) as beats of 16 bytes, first byte lowest, without preamble and check sequence. Every
// frame ends in a beat that says what is wrong with it; the receiver of the beats must forget a frame that is not whole.
module gmii_rx #(
    // Bytes of the longest frame, check sequence and all, 64 to 2046.
    parameter MOST = 1518
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [  7:0] rxd,
    input  wire         rx_dv,
    input  wire         rx_er,
    output reg  [127:0] out_data,
    output reg  [  3:0] out_count,  // bytes of the beat - 1
    output reg          out_last,
    output reg  [  2:0] out_fault,  // of the frame, with its last beat: ethernet_pkg
    output reg          out_valid,
    input  wire         out_ready
);
  if (MOST < 64 || MOST > 2046) begin : wrong_MOST gmii_rx_needs_MOST_from_64_to_2046 refused (); end

  localparam LEAST = 64;
  localparam [1:0] IDLE = 0, FRAME = 1, SKIP = 2, LAST = 3;

  reg [7:0] d;
  reg dv, er;
  reg [1:0] state;
  reg [10:0] length;  // bytes since the preamble, up to 2,047
  reg long_enough, too_long;
  reg [31:0] crc;
  wire [31:0] crc_next;
  reg whole;  // as of a cycle ago, the check sequence was right
  reg bad;
  reg [31:0] held;  // the last four bytes, which may be the check sequence
  reg [2:0] holds;
  reg [127:0] beat;
  reg [4:0] fill;
  reg lost;  // a beat of this frame met a full queue
  reg owed;  // the end of a lost frame has still to be told

  crc32_byte step (
      .crc (crc),
      .data(d),
      .next(crc_next)
  );

  wire free = !out_valid || out_ready;
  wire ends = state == LAST;
  wire stray = state == IDLE && dv && d != 8'h55 && d != 8'hD5;  // no preamble
  wire leaves = state == FRAME && dv && holds == 4;
  wire spill = leaves && fill == 16;
  wire [2:0] fault = too_long ? ethernet_pkg::JUMBO : !long_enough ? ethernet_pkg::RUNT
      : bad || !whole ? ethernet_pkg::CORRUPT : ethernet_pkg::NONE;

  integer i;
  always @(posedge clk) begin
    d  <= rxd;
    dv <= rx_dv;
    er <= rx_er;
    whole <= crc == 32'hDEBB20E3;

    if (state == IDLE) begin
      length      <= 0;
      long_enough <= 1'b0;
      too_long    <= 1'b0;
      crc         <= 32'hFFFFFFFF;
      bad         <= 1'b0;
      holds       <= 0;
      fill        <= 0;
    end else if (state == FRAME && dv) begin
      if (!(&length)) length <= length + 1'b1;
      if (length == LEAST - 1) long_enough <= 1'b1;
      if (length == MOST) too_long <= 1'b1;
      crc  <= crc_next;
      bad  <= bad || er;
      held <= {d, held[31:8]};
      if (holds != 4) holds <= holds + 1'b1;
      if (leaves) begin
        fill <= spill ? 5'd1 : fill + 1'b1;
        /* verilator lint_off WIDTHEXPAND */ for (i = 0; i < 16; i = i + 1) if (fill[3:0] == i) beat[i*8+:8] <= held[7:0]; /* verilator lint_on WIDTHEXPAND */  // zero-extended
      end
    end

    if (free) out_data <= beat;  // whatever it is: an enable of few inputs, for many registers
    if (out_ready) out_valid <= 1'b0;
    if (owed && free) begin
      out_valid <= 1'b1;
      out_last  <= 1'b1;
      out_fault <= ethernet_pkg::OVERFLOW;
      owed      <= 1'b0;
    end else if ((spill && !too_long || ends) && !lost && !owed && free) begin
      out_valid <= 1'b1;
      /* verilator lint_off WIDTHTRUNC */ out_count <= fill - 1'b1; /* verilator lint_on WIDTHTRUNC */  // the value fits
      out_last  <= ends;
      out_fault <= fault;
    end else if (stray && free) begin
      out_valid <= 1'b1;
      out_last  <= 1'b1;
      out_fault <= ethernet_pkg::CORRUPT;
    end else if (spill && !too_long) lost <= 1'b1;
    if (ends) begin
      if (lost || owed || !free) owed <= 1'b1;
      lost <= 1'b0;
    end

    if (rst) begin
      state     <= SKIP;
      out_valid <= 1'b0;
      lost      <= 1'b0;
      owed      <= 1'b0;
    end else
      case (state)
        IDLE: if (dv && d != 8'h55) state <= d == 8'hD5 ? FRAME : SKIP;
        FRAME: if (!dv) state <= LAST;
        LAST: state <= IDLE;
        default: if (!dv) state <= IDLE;
      endcase
  end
endmodule
