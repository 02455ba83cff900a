// SPDX-License-Identifier: Apache-2.0
// State of each aggregator's sum in the packet's round, and the outcome of a contribution (the control Aggregate of
// p4/switchgnn): an entry of another round counts as empty, so that nothing is cleaned; one that was released is dead for
// the round.
module vertex_sums #(
    // A power of two.
    parameter AGGREGATORS = 256
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire                           clearing,  // empty the entry clear_at
    input  wire [$clog2(AGGREGATORS)-1:0] clear_at,
    input  wire [$clog2(AGGREGATORS)-1:0] at,        // these stay until done
    input  wire [                   15:0] round,
    input  wire [                   15:0] need,
    input  wire                           mark,      // the contribution met congestion
    input  wire                           gives_up,  // instead of a contribution
    input  wire                           valid,
    output reg                            done,      // for a cycle; the following stay
    output reg  [                    4:0] outcome,
    output reg                            set,
    output reg                            add,
    output reg                            complete,  // the sum leaves
    output reg                            marked     // and with this mark
);
  if (AGGREGATORS < 2 || (AGGREGATORS & (AGGREGATORS - 1)) != 0) begin : wrong_AGGREGATORS vertex_sums_needs_AGGREGATORS_a_power_of_two_2_or_more refused (); end

  localparam [15:0] DEAD = 16'h8000;
  localparam [1:0] IDLE = 0, READ = 1, COMPARE = 2, DECIDE = 3;

  reg [32:0] memory[0:AGGREGATORS-1];  // mark, round, contributions left
  reg [32:0] entry;
  reg [1:0] state;
  reg same, dead, last;
  reg [15:0] less, opened, left;

  always @(posedge clk) begin
    if (state == READ) entry <= memory[at];
    if (clearing) memory[clear_at] <= 33'b0;
    else if (done) memory[at] <= {marked, round, left};

    done  <= state == DECIDE;
    state <= state == IDLE && !valid ? IDLE : state + 1'b1;
    if (state == COMPARE) begin
      same   <= entry[31:16] == round;
      dead   <= entry[15:0] == DEAD;
      last   <= entry[15:0] == 1;
      less   <= entry[15:0] - 1'b1;
      opened <= need - 1'b1;
    end
    if (state == DECIDE) begin
      set      <= !gives_up && !same;
      add      <= !gives_up && same && !dead;
      complete <= !gives_up && same && last;
      marked   <= !gives_up && (mark || same && entry[32]);
      left     <= gives_up || same && dead ? DEAD : same ? less : opened;
      if (gives_up) outcome <= switchgnn_pkg::FETCHED;
      else if (!same) outcome <= switchgnn_pkg::OPENED;
      else if (dead) outcome <= switchgnn_pkg::RELEASED;
      else outcome <= last ? switchgnn_pkg::COMPLETED : switchgnn_pkg::ADDED;
    end
    if (rst) begin
      state <= IDLE;
      done  <= 1'b0;
    end
  end
endmodule
