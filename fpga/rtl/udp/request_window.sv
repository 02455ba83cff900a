// SPDX-License-Identifier: Apache-2.0
// Outcomes of a session's requests: a place for each number modulo PLACES, with the answer while the host may ask
// for it again. A place takes a number only if it is higher than the one that it has: nothing is carried out twice.
// An answer is offered four cycles after its last beat, when its sum is known.
module request_window #(
    // A power of two, 2 to 256.
    parameter PLACES = 8,
    // Sources of answers, 3 to 8.
    parameter SOURCES = 3
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire                      forget,        // a new session: all places are free; only while idle
    output wire                      idle,
    input  wire [              31:0] sequence_in,
    output reg                       fresh,         // it may be carried out; like known a cycle after sequence_in
    output reg                       known,         // it is, or is being
    input  wire                      accept,        // carry it out
    input  wire                      again,         // answer it again, if the answer is there
    input  wire [               2:0] target,        // with accept
    input  wire [               2:0] answer_source,
    input  wire [             127:0] answer_data,
    input  wire                      answer_last,
    input  wire                      answer_valid,  // always taken
    output wire                      send_valid,
    output wire [               7:0] send_place,
    output wire [              31:0] send_sequence,
    output wire [               6:0] send_beats,
    output wire [              15:0] send_sum,      // of the answer, one's complement
    output wire [              31:0] send_cycles,
    input  wire                      send_ready,
    /* verilator lint_off UNUSEDSIGNAL */ input wire [7:0] read_place, /* verilator lint_on UNUSEDSIGNAL */  // one of PLACES
    input  wire [               6:0] read_beat,
    output reg  [             127:0] read_data,     // of that beat of that place's answer, a cycle later
    input  wire                      sent           // the answer at read_place
);
  if (PLACES < 2 || PLACES > 256 || (PLACES & (PLACES - 1)) != 0) begin : wrong_PLACES request_window_needs_PLACES_a_power_of_two_from_2_to_256 refused (); end
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
  /* verilator lint_off UNUSEDSIGNAL */ wire [31:0] ahead = sequence_in - sequences[place]; /* verilator lint_on UNUSEDSIGNAL */  // its sign alone
  wire same = sequence_in == sequences[place];
  assign idle = pending == 0 && queued == 0;

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
  reg [6:0] beat;
  /* verilator lint_off UNUSEDSIGNAL */ wire [21:0] words; /* verilator lint_on UNUSEDSIGNAL */  // eight words need fewer bits
  sum_words #(
      .WORDS(8)
  ) adder (
      .data(answer_data),
      .sum (words)
  );

  // The sum of an answer: its beats', added to those before, folded; what goes with its last beat moves on beside it.
  reg [18:0] beat_sum;
  reg [16:0] sum, whole_sum;
  wire [19:0] more = {3'b0, sum} + {1'b0, beat_sum};
  wire [16:0] folded = {1'b0, more[15:0]} + {13'b0, more[19:16]};
  reg added, last_added, ends;
  reg [BITS-1:0] place_added, place_ended;
  reg [6:0] beats_added, beats_ended;
  reg [31:0] cycles_added, cycles_ended;

  wire repeats = again && known && !pending[place] && !queued[place] && !ends;
  wire [BITS-1:0] sending;
  wire [BITS-1:0] reading = read_place[BITS-1:0];
  fifo #(
      .WIDTH(BITS),
      .DEPTH(PLACES)
  ) ready (
      .*,
      .in_data(ends ? place_ended : place),
      .in_valid(ends || repeats),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(sending),
      .out_valid(send_valid),
      .out_ready(send_ready),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );
  /* verilator lint_off WIDTHEXPAND */ assign send_place = sending; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  assign send_sequence = sequences[sending];
  assign send_beats    = beats[sending];
  assign send_sum      = sums[sending];
  assign send_cycles   = cycles[sending];

  always @(posedge clk) begin
    now   <= now + 1'b1;
    known <= valid[place] && same;
    fresh <= !pending[place] && !queued[place] && (!valid[place] || (!same && !ahead[31]));
    if (accept) sequences[place] <= sequence_in;
    if (accept) begun[place] <= now;
    if (answer_valid) answers[{answered, beat}] <= answer_data;
    read_data <= answers[{reading, read_beat}];

    beat_sum     <= words[18:0];
    added        <= answer_valid && !rst;
    last_added   <= answer_valid && answer_last && !rst;
    place_added  <= answered;
    beats_added  <= beat + 1'b1;
    cycles_added <= now - begun[answered];
    if (added) sum <= last_added ? 17'd0 : folded;
    ends         <= last_added && !rst;
    whole_sum    <= folded;
    place_ended  <= place_added;
    beats_ended  <= beats_added;
    cycles_ended <= cycles_added;
    if (ends) begin
      beats[place_ended]  <= beats_ended;
      sums[place_ended]   <= whole_sum[15:0] + {15'b0, whole_sum[16]};
      cycles[place_ended] <= cycles_ended;
    end

    if (accept) valid[place] <= 1'b1;
    if (accept) pending[place] <= 1'b1;
    if (ends) pending[place_ended] <= 1'b0;
    if (ends) queued[place_ended] <= 1'b1;
    if (repeats) queued[place] <= 1'b1;
    if (sent) queued[reading] <= 1'b0;
    if (answer_valid) beat <= answer_last ? 7'd0 : beat + 1'b1;
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
