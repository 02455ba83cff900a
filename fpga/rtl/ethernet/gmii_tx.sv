// SPDX-License-Identifier: Apache-2.0
// Frames to GMII: preamble, beats of 16 bytes, zeros up to 60 bytes, check sequence, and a gap of 12 bytes. A frame whose
// next beat is not there in time is sent with an error and without a check sequence; the rest of it is dropped.
module gmii_tx (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,  // bytes of the beat - 1, 15 but in the last
    input  wire         in_last,
    input  wire         in_valid,
    output wire         in_ready,
    output reg  [  7:0] txd,
    output reg          tx_en,
    output reg          tx_er
);
  localparam LEAST = 60, GAP_BYTES = 12;
  localparam [2:0] IDLE = 0, PREAMBLE = 1, DATA = 2, PAD = 3, CHECK = 4, GAP = 5, FAIL = 6, DROP = 7;

  reg [2:0] state;
  reg [3:0] count;
  reg [127:0] beat;
  reg [3:0] left;
  reg last;
  reg load;  // a beat is taken: known a cycle before, because many registers hear it
  // The next beat, away from the queue's memory.
  reg [127:0] ahead;
  reg [3:0] ahead_count;
  reg ahead_last, ahead_valid;
  reg [5:0] sent;  // up to LEAST
  reg [31:0] crc;
  wire [31:0] crc_next;

  wire [7:0] data = state == DATA ? beat[7:0] : 8'h00;
  crc32_byte step (
      .*,
      .next(crc_next)
  );

  wire starts = state == PREAMBLE && count == 7;
  wire emptied = state == DATA && left == 0;
  assign in_ready = !ahead_valid || load || state == DROP;
  wire long_enough = sent >= LEAST - 1;  // with the byte that is sent now

  always @(posedge clk) begin
    count <= count + 1'b1;
    tx_en <= state != IDLE && state != GAP && state != DROP;
    tx_er <= state == FAIL;
    txd   <= state == PREAMBLE ? (count == 7 ? 8'hD5 : 8'h55) : state == CHECK ? ~crc[7:0] : data;
    load <= (state == PREAMBLE && count == 6) || (state == DATA && left == 1 && !last);
    if (in_ready) {ahead_last, ahead_count, ahead, ahead_valid} <= {in_last, in_count, in_data, in_valid};
    beat <= load ? ahead : beat >> 8;  // which means nothing but in DATA
    left <= load ? ahead_count : left - 1'b1;
    if (load) last <= ahead_last;
    if (state == IDLE) begin
      sent <= 0;
      crc  <= 32'hFFFFFFFF;
    end else if (state == DATA || state == PAD) begin
      crc <= crc_next;
      if (sent != LEAST) sent <= sent + 1'b1;
    end else if (state == CHECK) crc <= {8'b0, crc[31:8]};

    case (state)
      IDLE: if (ahead_valid) state <= PREAMBLE;
      PREAMBLE: if (starts) state <= DATA;
      DATA: if (emptied) state <= !last ? (ahead_valid ? DATA : FAIL) : long_enough ? CHECK : PAD;
      PAD: if (long_enough) state <= CHECK;
      CHECK: if (count == 3) state <= GAP;
      GAP: if (count == GAP_BYTES - 2) state <= IDLE;  // which sends the gap's last byte
      FAIL: state <= DROP;
      default: if (ahead_valid && ahead_last) state <= GAP;
    endcase
    if (state == IDLE || (state == DATA && emptied) || (state == PAD && long_enough)) count <= 0;
    if (state == CHECK && count == 3 || state == DROP) count <= 0;
    if (rst) begin
      state       <= IDLE;
      load        <= 1'b0;
      ahead_valid <= 1'b0;
      tx_en       <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk) if (!rst) assert (load == (starts || (emptied && !last)));
`endif
endmodule
