// SPDX-License-Identifier: Apache-2.0
// The round, and DONE of hosts (the controls Round and Barrier of p4/switchgnn): when all have said it, the next round
// begins. A host that missed GO gets it again; a switch that has no round yet takes a DONE's.
module round_barrier (
    input  wire        clk,
    input  wire        rst,
    input  wire        clear,     // no round, and nobody has said anything
    input  wire [ 5:0] members,
    input  wire [15:0] round,     // of a packet; these stay until done
    input  wire [ 4:0] host,
    input  wire        valid,     // it is DONE of this host
    output reg         done,      // for a cycle; the following stay
    output reg  [ 4:0] outcome,
    output reg         all,       // GO leaves, to all
    output reg         one,       // or to this host
    output reg  [15:0] now        // the round
);
  localparam [1:0] IDLE = 0, COMPARE = 1, COUNT = 2, DECIDE = 3;

  reg [15:0] waits[0:31];  // for which round each host does
  reg [15:0] awaited, next, behind, counted;  // counted: the round for which
  reg [31:0] entered;  // hosts that have a word in waits
  reg [5:0] arrived, sum;
  reg [1:0] state;
  reg known, first;

  wire here = behind == 0;
  wire ends = first && sum == members;
  always @(posedge clk) begin
    if (state == DECIDE && here) waits[host] <= next;
    done  <= state == DECIDE;
    state <= state == IDLE && !valid ? IDLE : state + 1'b1;
    case (state)
      IDLE: begin
        awaited <= waits[host];
        known   <= entered[host];
        next   <= &round ? 16'd1 : round + 1'b1;
        behind <= now - round;
      end
      COMPARE: first <= !known || awaited != next;
      COUNT: sum <= {5'b0, first} + (counted == next ? arrived : 6'd0);
      default: begin
        all <= here ? ends : now == 0;
        one <= !here && now != 0 && !behind[15];
        if (here) begin
          outcome    <= first ? switchgnn_pkg::DONE : switchgnn_pkg::DONE_REPEATED;
          counted    <= next;
          arrived    <= sum;
          entered[host] <= 1'b1;
          if (ends) now <= next;
        end else if (now == 0) begin
          outcome <= switchgnn_pkg::RESUMED;
          now     <= round;
        end else outcome <= behind[15] ? switchgnn_pkg::STALE : switchgnn_pkg::GO_REPEATED;
      end
    endcase
    if (rst || clear) begin
      state   <= IDLE;
      done    <= 1'b0;
      now     <= 0;
      counted <= 0;
      entered <= 0;
    end
  end
endmodule
