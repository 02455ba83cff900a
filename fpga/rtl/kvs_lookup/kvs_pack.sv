// SPDX-License-Identifier: Apache-2.0
// Puts addresses together into beats, and ends each packet with a completion.
`include "axi.svh"
module kvs_pack #(
    // Bits of a beat, a multiple of 64, 128 or more.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               poison,         // what ends now was aborted
    output wire               looked_up,
    output wire               faulty,
    input  wire               token_end,
    input  wire [        7:0] token_status,
    input  wire [       63:0] token_word,
    input  wire               token_valid,
    output wire               token_ready,
    `AXIS_OUT(m_axis, WIDTH)
);
  if (WIDTH < 128 || WIDTH % 64 != 0) begin : wrong_WIDTH kvs_pack_needs_WIDTH_a_multiple_of_64_128_or_more refused (); end

  localparam KEYS = WIDTH / 64;

  reg [WIDTH-1:0] beat;
  reg [KEYS-1:0] filled;
  reg [31:0] count;
  reg [7:0] fault;  // the first that a key of this packet met

  wire full = filled[KEYS-1];
  wire [KEYS-1:0] next = {filled[KEYS-2:0], 1'b1} & ~filled;  // the place of the next address
  wire flush = full || (token_valid && token_end && filled != 0);  // the beat leaves before anything else comes
  wire complete = token_valid && token_end && !flush;
  wire [7:0] status = poison ? device_pkg::ABORTED : token_status != device_pkg::OK ? token_status : fault;
  wire beat_ready;

  assign token_ready = token_end ? complete && beat_ready : !full || beat_ready;
  assign looked_up   = token_valid && token_ready && !token_end;
  assign faulty      = token_valid && token_ready && token_end && status != device_pkg::OK;

  /* verilator lint_off WIDTHEXPAND */ wire [WIDTH-1:0] completion = {token_word, count, 24'b0, status}; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  assign m_axis_tkeep = {WIDTH / 8{1'b1}};  // whole beats always, as DMA engines want them

  skid_buffer #(
      .WIDTH(WIDTH + 1)
  ) out (
      .*,
      .in_data(flush ? {1'b0, beat} : {1'b1, completion}),
      .in_valid(flush || complete),
      .in_ready(beat_ready),
      .out_data({m_axis_tlast, m_axis_tdata}),
      .out_valid(m_axis_tvalid),
      .out_ready(m_axis_tready)
  );

  integer i;
  wire cleared = flush && beat_ready;
  always @(posedge clk) begin
    if (looked_up) begin
      if (cleared || next[0]) beat <= {{WIDTH - 64{1'b0}}, token_word};
      else for (i = 1; i < KEYS; i = i + 1) if (next[i]) beat[i*64+:64] <= token_word;
    end
    if (rst) begin
      filled <= 0;
      count  <= 0;
      fault  <= device_pkg::OK;
    end else begin
      if (looked_up) filled <= cleared ? {{KEYS - 1{1'b0}}, 1'b1} : {filled[KEYS-2:0], 1'b1};
      else if (cleared) filled <= 0;
      if (looked_up) begin
        count <= count + 1'b1;
        if (fault == device_pkg::OK) fault <= token_status;
      end else if (complete && beat_ready) begin
        count <= 0;
        fault <= device_pkg::OK;
      end
    end
  end
endmodule
