// SPDX-License-Identifier: Apache-2.0
// Outcomes of a session's requests: a place for each number modulo PLACES, with the answer while the host may ask
// for it again. A place takes a number only if it is higher than the one that it has: nothing is carried out twice.
module request_window #(
    // A power of two, 2 or more.
    parameter PLACES = 8,
    // Sources of answers, 3 to 8.
    parameter SOURCES = 3
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire                      forget,        // a new session: all places are free; only while idle
    output wire                      idle,
    input  wire [              31:0] sequence_in,
    output wire                      fresh,         // it may be carried out
    output wire                      known,         // it is, or is being
    input  wire                      accept,        // carry it out
    input  wire                      again,         // answer it again, if the answer is there
    input  wire [               2:0] target,        // with accept
    input  wire [               2:0] answer_source,
    input  wire [             127:0] answer_data,
    input  wire                      answer_last,
    input  wire                      answer_valid,  // always taken
    output wire                      send_valid,
    output wire [              31:0] send_sequence,
    output wire [               6:0] send_beats,
    output wire [              15:0] send_sum,      // of the answer, one's complement
    output wire [              31:0] send_cycles,
    input  wire [               6:0] send_beat,
    output reg  [             127:0] send_data,     // of that beat, a cycle later
    input  wire                      sent
);
  if (PLACES < 2 || (PLACES & (PLACES - 1)) != 0) begin : wrong_PLACES request_window_needs_PLACES_a_power_of_two_2_or_more refused (); end
  if (SOURCES < 3 || SOURCES > 8) begin : wrong_SOURCES request_window_needs_SOURCES_from_3_to_8 refused (); end

  localparam BITS = $clog2(PLACES);

  reg [PLACES-1:0] valid, pending, queued;
  reg [31:0] sequences[0:PLACES-1];
  reg [31:0] begun[0:PLACES-1];
  reg [31:0] cycles[0:PLACES-1];
  reg [15:0] sums[0:PLACES-1];
  reg [6:0] beats[0:PLACES-1];
  (* ram_style = "block", no_rw_check *)  // an answer is whole before it is sent
  reg [127:0] answers[0:PLACES*128-1];
  reg [31:0] now;

  wire [BITS-1:0] place = sequence_in[BITS-1:0];
  wire [31:0] ahead = sequence_in - sequences[place];
  assign idle  = pending == 0 && queued == 0;
  assign known = valid[place] && ahead == 0;
  assign fresh = !pending[place] && !queued[place] && (!valid[place] || (ahead != 0 && !ahead[31]));

  // Answers come in order from each source.
  wire [BITS*SOURCES-1:0] heads;
  genvar g;
  generate
    for (g = 0; g < SOURCES; g = g + 1) begin : orders
      fifo #(
          .WIDTH(BITS),
          .DEPTH(PLACES)
      ) order (
          .*,
          .in_data(place),
          .in_valid(accept && target == g),
          /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
          .out_data(heads[g*BITS+:BITS]),
          /* verilator lint_off PINCONNECTEMPTY */ .out_valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
          .out_ready(answer_valid && answer_last && answer_source == g),
          /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
      );
    end
  endgenerate

  wire [BITS-1:0] answered = heads[answer_source*BITS+:BITS];
  wire ends = answer_valid && answer_last;
  reg [6:0] beat;
  reg [16:0] sum;
  wire [21:0] words;
  sum_words #(
      .WORDS(8)
  ) adder (
      .data(answer_data),
      .sum (words)
  );
  wire [22:0] more = {6'b0, sum} + words;
  wire [16:0] folded = {1'b0, more[15:0]} + {10'b0, more[22:16]};

  wire repeats = again && known && !pending[place] && !queued[place] && !ends;
  wire [BITS-1:0] sending;
  fifo #(
      .WIDTH(BITS),
      .DEPTH(PLACES)
  ) ready (
      .*,
      .in_data(ends ? answered : place),
      .in_valid(ends || repeats),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(sending),
      .out_valid(send_valid),
      .out_ready(sent),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  assign send_sequence = sequences[sending];
  assign send_beats    = beats[sending];
  assign send_sum      = sums[sending];
  assign send_cycles   = cycles[sending];

  always @(posedge clk) begin
    now <= now + 1'b1;
    if (accept) sequences[place] <= sequence_in;
    if (accept) begun[place] <= now;
    if (answer_valid) answers[{answered, beat}] <= answer_data;
    send_data <= answers[{sending, send_beat}];
    if (ends) begin
      beats[answered]  <= beat + 1'b1;
      sums[answered]   <= folded[15:0] + {15'b0, folded[16]};
      cycles[answered] <= now - begun[answered];
    end
    if (accept) valid[place] <= 1'b1;
    if (accept) pending[place] <= 1'b1;
    if (ends) pending[answered] <= 1'b0;
    if (ends) queued[answered] <= 1'b1;
    if (repeats) queued[place] <= 1'b1;
    if (sent) queued[sending] <= 1'b0;
    if (answer_valid) begin
      beat <= answer_last ? 7'd0 : beat + 1'b1;
      sum  <= answer_last ? 17'd0 : folded;
    end
    if (rst) begin
      now     <= 0;
      beat    <= 0;
      sum     <= 0;
      pending <= 0;
      queued  <= 0;
    end
    if (rst || forget) valid <= 0;
  end
endmodule
