// SPDX-License-Identifier: Apache-2.0
// SwitchGNN between hosts on one Ethernet (the program p4/switchgnn/v1model.p4 with packets of one segment, as the only
// switch and without ACKs): an upload is added to the sum of each of its vertex's neighbours, and a sum that is complete
// goes to its owner. A contribution takes eight cycles for its lanes and nine.
//
// A worker's own MAC address takes the place of the switch's port, both ways. Bytes behind the lanes are dropped, and a
// RESEND without all of its lanes, or with more, is malformed.
module neighbour_sums #(
    // Aggregators of 32 lanes, a power of two, 16 to 65536.
    parameter AGGREGATORS = 256,
    // Table entries for vertices and for their owners, likewise.
    parameter VERTICES    = 1024,
    // Table entries for contributions, likewise.
    parameter EDGES       = 1024
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [  5:0] members,      // workers, up to 32; 0: there is no job
    input  wire         clear,        // forget the job before the next frame
    output wire         busy,
    input  wire         write,        // an entry (offramp.switchgnn.card_tables)
    input  wire [ 15:0] write_at,
    input  wire         write_edge,   // a contribution; else a vertex
    input  wire [ 95:0] write_data,
    input  wire [127:0] in_data,
    input  wire         in_last,
    input  wire         in_whole,     // switch_check's kind is 2
    input  wire         in_valid,
    output wire         in_ready,
    output wire [127:0] out_data,
    output wire [  3:0] out_count,
    output wire         out_last,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [ 15:0] round,
    input  wire [  4:0] which,
    output wire [ 31:0] count         // of this outcome (outcome_counts)
);
  if (AGGREGATORS < 16 || AGGREGATORS > 65536 || (AGGREGATORS & (AGGREGATORS - 1)) != 0) begin : wrong_AGGREGATORS neighbour_sums_needs_AGGREGATORS_a_power_of_two_16_to_65536 refused (); end
  if (EDGES < 16 || EDGES > 65536 || (EDGES & (EDGES - 1)) != 0) begin : wrong_EDGES neighbour_sums_needs_EDGES_a_power_of_two_16_to_65536 refused (); end

  localparam BITS = $clog2(AGGREGATORS), EDGE_BITS = $clog2(EDGES);
  localparam MOST = VERTICES > AGGREGATORS ? VERTICES : AGGREGATORS;  // entries of what is cleared, 32 at least
  localparam SWEEP = $clog2(MOST < 32 ? 32 : MOST);
  localparam [4:0] IDLE = 0, START = 1, COPY = 2, LOOK = 3, JUDGE = 4, SEEN = 5, TWICE = 6, ENTER = 7, NOBODY = 8,
      ASK = 9, OWNER = 10, EDGE = 11, FIND = 12, NEED = 13, TRY = 14, SUM = 15, SEND = 16, LANES = 17, NEXT = 18,
      DONE = 19, MET = 20;

  function [31:0] swap_word(input [31:0] word);
    swap_word = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction
  function [15:0] swap(input [15:0] word);
    swap = {word[7:0], word[15:8]};
  endfunction

  reg [4:0] state;
  reg [2:0] beat;  // of lanes

  // --- the packet ---
  reg asked, clearing;  // the job is to be forgotten; is being forgotten
  wire between, begins, whole;
  wire [switchgnn_pkg::HEADER_BYTES*8-1:0] head;
  wire [127:0] lanes;
  switch_parser #(
      .HEADER_BYTES(switchgnn_pkg::HEADER_BYTES)
  ) parser (
      .*,
      .idle(state == IDLE),
      .takes(state == COPY),
      .hold(asked || clearing)
  );
  wire [31:0] src = swap_word(head[34*8+:32]);
  wire [31:0] dst = swap_word(head[38*8+:32]);
  wire [15:0] block = swap(head[42*8+:16]);
  wire [7:0] flags = head[46*8+:8];
  wire [7:0] chunk = head[47*8+:8];
  wire [15:0] packet_round = swap(head[48*8+:16]);
  wire ack = flags[7], fetch = flags[6], mark = flags[5], resend = flags[4];
  wire carries = !ack && !fetch;  // lanes
  wire [47:0] mac = {swap_word(head[6*8+:32]), swap(head[10*8+:16])};
  /* verilator lint_off UNUSEDSIGNAL */ wire [7:0] number = mac[7:0] - 1'b1; /* verilator lint_on UNUSEDSIGNAL */  // up to 31
  wire worker_mac = mac[47:6] == switch_pkg::HOSTS_MAC[47:6];  // whose lowest bits are 0

  // START: the packet's own headers.
  reg [4:0] sender;
  reg member, damaged, stale, served, is_data, is_done, is_ack, is_fetch, host, own_word;
  always @(posedge clk)
    if (state == START) begin
      sender   <= number[4:0];
      member   <= worker_mac && mac[5:0] != 0 && mac[5:0] <= members;
      damaged  <= carries && (!whole || flags[3:2] != 0);
      stale    <= packet_round != round;
      served   <= !ack || !fetch && !resend;
      is_data  <= carries && !resend;
      is_done  <= ack && fetch && !resend;
      is_ack   <= ack;
      is_fetch <= !ack && fetch;
      host     <= src[31:5] == 0 && {1'b0, src[4:0]} < members;
      own_word <= src[4:0] == number[4:0];
    end

  // --- forgetting, between two frames ---
  reg [SWEEP-1:0] sweep;
  assign busy = asked || clearing || !between;
  always @(posedge clk) begin
    asked    <= !rst && (clear || asked && !between);
    clearing <= !rst && (asked && between || clearing && !(&sweep));
    sweep    <= clearing ? sweep + 1'b1 : {SWEEP{1'b0}};
  end

  // --- vertices ---
  reg pulling;  // it is the owner that is looked up
  reg looked;  // since the frame came
  wire lookup_done, listed, sends;
  wire [15:0] base, first;
  wire [7:0] chunks;
  wire [4:0] worker;
  vertex_table #(
      .ENTRIES(VERTICES)
  ) vertices (
      .*,
      .clear_at(sweep[$clog2(VERTICES)-1:0]),
      .write(write && !write_edge),
      .owner(pulling),
      .block(pulling ? 16'b0 : block),
      .vertex(pulling ? dst : src),
      .valid(state == START || state == ASK),
      .done(lookup_done),
      .slot(base)
  );
  // LOOK: the result of the look-up.
  reg known, strange, beyond;
  reg [BITS-1:0] slot;
  /* verilator lint_off UNUSEDSIGNAL */ wire [15:0] slot_of = base + {8'b0, chunk}; /* verilator lint_on UNUSEDSIGNAL */  // an entry may name what is not there
  always @(posedge clk)
    if (state == LOOK) begin
      known   <= listed;
      strange <= worker != sender;
      beyond  <= chunk >= chunks;
      slot    <= slot_of[BITS-1:0];
    end

  // --- the duplicate guard ---
  reg [15:0] rounds[0:AGGREGATORS-1];  // in which an upload was seen last
  reg [15:0] last_round;
  reg twice;
  always @(posedge clk) begin
    if (state == SEEN) last_round <= rounds[slot];
    if (clearing) rounds[sweep[BITS-1:0]] <= 16'b0;
    else if (state == ENTER && !twice) rounds[slot] <= packet_round;
    if (state == TWICE) twice <= last_round == packet_round;
  end

  // --- contributions ---
  reg [69:0] edges[0:EDGES-1];  // last, worker, need, slot, dst
  reg [69:0] edge_entry;
  /* verilator lint_off UNUSEDSIGNAL */ reg [15:0] edge_at; /* verilator lint_on UNUSEDSIGNAL */  // likewise
  reg [BITS-1:0] at;  // the aggregator
  reg alone;  // its sum needs no other
  wire [31:0] edge_dst = edge_entry[31:0];
  wire [15:0] need = edge_entry[63:48];
  /* verilator lint_off UNUSEDSIGNAL */ wire [15:0] at_of = edge_entry[47:32] + {8'b0, chunk}; /* verilator lint_on UNUSEDSIGNAL */  // likewise
  wire edge_here = {16'b0, write_at} < EDGES;
  always @(posedge clk) begin
    if (state == EDGE) edge_entry <= edges[edge_at[EDGE_BITS-1:0]];
    if (write && write_edge && edge_here)
      edges[write_at[EDGE_BITS-1:0]] <= {write_data[72], write_data[68:64], write_data[63:0]};
    if (state == ENTER) edge_at <= first;
    else if (state == EDGE) edge_at <= edge_at + 1'b1;
    if (state == FIND || state == OWNER) at <= state == OWNER ? slot : at_of[BITS-1:0];
    if (state == FIND) alone <= need == 1;
  end

  wire sum_done, set, add, complete, marked;
  wire [4:0] sum_outcome;
  vertex_sums #(
      .AGGREGATORS(AGGREGATORS)
  ) sums (
      .*,
      .clear_at(sweep[BITS-1:0]),
      .round(packet_round),
      .gives_up(is_fetch),
      .valid(state == TRY),
      .done(sum_done),
      .outcome(sum_outcome)
  );

  // --- lanes: those of the packet are kept while they are added to one sum after the other ---
  reg [127:0] upload[0:7];
  reg adds, stores, leaves;
  wire [127:0] summed;
  wire summed_valid;
  always @(posedge clk) if (state == COPY && in_valid) upload[beat] <= lanes;
  switch_lanes #(
      .DEPTH(AGGREGATORS * 8)
  ) added (
      .*,
      .in_at({at, beat}),
      .in_lanes(upload[beat]),
      .in_set(!adds),
      .in_add(adds),
      .in_store(stores),
      .in_valid(state == LANES),
      .out_lanes(summed),
      .out_valid(summed_valid)
  );

  // --- the barrier ---
  wire met, all, one;
  wire [4:0] met_outcome;
  round_barrier barrier (
      .*,
      .clear(clearing),
      .round(packet_round),
      .host(sender),
      .valid(state == DONE),
      .done(met),
      .outcome(met_outcome),
      .now(round)
  );

  // --- output ---
  reg ecn;
  reg [4:0] to;
  wire sender_ready;
  wire sends_now = state == SEND && sender_ready;
  wire [15:0] block_after = block + 1'b1;
  wire [127:0] sum_header = {
    head[47*8+:24], flags[7:6], ecn, flags[4:0], swap(need), head[42*8+:16], swap_word(edge_dst), switchgnn_pkg::NO_ID
  };
  wire [127:0] go_header = {
    swap(round), head[46*8+:16], {2'b0, members}, 8'b0, swap(block_after), switchgnn_pkg::NO_ID, switchgnn_pkg::NO_ID
  };
  wire [5:0] to_number = {1'b0, to} + 1'b1;
  wire [47:0] to_mac = {
    switch_pkg::HOSTS_MAC[7:0] | {2'b0, to_number}, switch_pkg::HOSTS_MAC[15:8], switch_pkg::HOSTS_MAC[23:16],
    switch_pkg::HOSTS_MAC[31:24], switch_pkg::HOSTS_MAC[39:32], switch_pkg::HOSTS_MAC[47:40]
  };
  switch_sender #(
      .HEADER(50),
      .BEATS (8)
  ) reply (
      .*,
      .in_head({is_data ? sum_header : is_done ? go_header : head[34*8+:128], head[34*8-1:0]}),
      .in_to(is_done && all ? 48'hFFFFFFFFFFFF : to_mac),
      .in_bare(is_done || is_fetch),
      .in_valid(sends_now),
      .in_ready(sender_ready),
      .lanes(summed),
      .lanes_valid(summed_valid && leaves)
  );

  reg [4:0] outcome;
  reg counted;
  outcome_counts so_far (
      .*,
      .clear_at(sweep[4:0]),
      .what(outcome)
  );

  always @(posedge clk) begin
    counted <= 1'b0;
    if (lookup_done) looked <= 1'b1;
    case (state)
      START: begin
        beat   <= 0;
        looked <= 1'b0;
        state  <= carries && whole ? COPY : LOOK;
      end
      COPY:
      if (in_valid) begin
        beat <= beat + 1'b1;
        if (beat == 7) state <= LOOK;
      end
      LOOK: if (looked) state <= JUDGE;
      JUDGE: begin  // unless it goes on, what comes first says why
        counted <= 1'b1;
        state   <= IDLE;
        if (damaged) outcome <= switchgnn_pkg::MALFORMED;
        else if (!member) outcome <= switchgnn_pkg::STRANGER;
        else if (is_done) begin
          outcome <= host ? switchgnn_pkg::STRANGER : switchgnn_pkg::UNKNOWN;
          counted <= !host || !own_word;
          if (host && own_word) state <= DONE;
        end else if (!served) outcome <= switchgnn_pkg::FOREIGN;
        else if (stale) outcome <= switchgnn_pkg::STALE;
        else if (!known) outcome <= switchgnn_pkg::UNKNOWN;
        else if (strange) outcome <= switchgnn_pkg::STRANGER;
        else if (beyond) outcome <= switchgnn_pkg::MALFORMED;
        else if (is_ack) outcome <= switchgnn_pkg::UNKNOWN;
        else begin
          counted <= 1'b0;
          pulling <= !is_data;
          state   <= is_data ? SEEN : ASK;
        end
      end

      // An upload, once.
      SEEN: state <= TWICE;
      TWICE: state <= ENTER;
      ENTER: begin
        outcome <= twice ? switchgnn_pkg::DUPLICATE : switchgnn_pkg::UPLOADS;
        counted <= 1'b1;
        state   <= twice ? IDLE : sends ? EDGE : NOBODY;
      end
      NOBODY: begin
        outcome <= switchgnn_pkg::UNKNOWN;
        counted <= 1'b1;
        state   <= IDLE;
      end

      // Its contributions, one after the other.
      EDGE: state <= FIND;
      FIND: state <= NEED;
      NEED: begin
        to     <= edge_entry[68:64];
        ecn    <= mark;
        adds   <= 1'b0;
        stores <= 1'b0;
        leaves <= alone;
        if (alone) begin
          outcome <= switchgnn_pkg::DELIVERED;
          counted <= 1'b1;
        end
        state <= alone ? SEND : TRY;
      end
      TRY: state <= SUM;
      SUM:
      if (sum_done) begin
        outcome <= sum_outcome;
        counted <= 1'b1;
        ecn     <= marked;
        adds    <= add;
        stores  <= set || add;
        leaves  <= complete;
        state   <= is_fetch || complete ? SEND : set || add ? LANES : NEXT;
      end
      SEND: begin
        if (is_done && all) begin
          outcome <= switchgnn_pkg::GO;
          counted <= sender_ready;
        end
        if (sender_ready) state <= is_done || is_fetch ? IDLE : LANES;
      end
      LANES: begin
        beat <= beat + 1'b1;
        if (beat == 7) state <= is_data ? NEXT : IDLE;
      end
      NEXT: state <= edge_entry[69] ? IDLE : EDGE;

      // FETCH and RESEND, to the owner of a vertex.
      ASK: state <= OWNER;
      OWNER: begin
        to     <= worker;
        adds   <= 1'b0;
        stores <= 1'b0;
        leaves <= 1'b1;
        if (lookup_done) begin
          outcome <= listed ? switchgnn_pkg::RESENT : switchgnn_pkg::UNKNOWN;
          counted <= !listed || !is_fetch;
          state   <= !listed ? IDLE : is_fetch ? TRY : SEND;
        end
      end

      // DONE of a host.
      DONE: begin
        to    <= sender;
        state <= MET;
      end
      MET:
      if (met) begin
        outcome <= met_outcome;
        counted <= 1'b1;
        state   <= all || one ? SEND : IDLE;
      end
      default: if (begins) state <= START;
    endcase
    if (between) pulling <= 1'b0;
    if (rst) state <= IDLE;
  end
endmodule
