// SPDX-License-Identifier: Apache-2.0
// State of each slot's chunk, and the outcome of a contribution (the control Slot of p4/allreduce/slot.p4): the
// chunk's number, whose contributions are in the sum, their greatest exponent, all their flags. A slot whose chunk is
// older than the packet's is taken over, so that nothing is ever cleaned but when a page gets another job.
module aggregate_slots #(
    // Slots, a power of two, 256 or more.
    parameter SLOTS = 256
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire                     clear,       // begin to empty the page
    input  wire [              7:0] clear_page,
    output wire                     clearing,
    input  wire [$clog2(SLOTS)-1:0] slot,        // these stay until done
    input  wire [             31:0] chunk,
    input  wire [             31:0] mask,
    input  wire [             31:0] all,
    input  wire [             15:0] exponent,
    input  wire [              7:0] flags,
    input  wire                     again,
    input  wire                     valid,       // of a contribution; not while clearing
    output wire                     done,        // the following hold, for a cycle
    output reg  [              3:0] outcome,
    output reg                      set,
    output reg                      add,
    output reg                      harvests,    // the sum leaves
    output reg                      pulls,       // a question leaves for what is missing
    output reg  [             31:0] present,
    output reg  [             15:0] greatest,
    output reg  [              7:0] flagged
);
  if (SLOTS < 256 || (SLOTS & (SLOTS - 1)) != 0) begin : wrong_SLOTS aggregate_slots_needs_SLOTS_a_power_of_two_256_or_more refused (); end

  localparam BITS = $clog2(SLOTS);
  localparam [2:0] IDLE = 0, READ = 1, COMPARE = 2, TEST = 3, DECIDE = 4, DONE = 5;

  reg [87:0] memory[0:SLOTS-1];
  reg [87:0] entry;
  reg [2:0] state;
  reg [8:0] line;  // that is emptied next, 256 for none
  reg [7:0] page;
  reg old, first, repeated, complete;
  reg [31:0] had;

  /* verilator lint_off UNUSEDSIGNAL */ wire [15:0] emptied = {page, line[7:0]}; /* verilator lint_on UNUSEDSIGNAL */  // pages that are not there
  assign clearing = !line[8];
  wire keeps = done && !old;
  wire same = entry[31:0] == chunk;
  /* verilator lint_off UNUSEDSIGNAL */ wire [31:0] distance = chunk - entry[31:0]; /* verilator lint_on UNUSEDSIGNAL */  // who is ahead

  always @(posedge clk) begin
    if (state == READ) entry <= memory[slot];
    if (clearing) memory[emptied[BITS-1:0]] <= 88'b0;
    else if (keeps) memory[slot] <= {flagged, greatest, present, chunk};

    if (clear) begin
      line <= 0;
      page <= clear_page;
    end else if (clearing) line <= line + 1'b1;

    // COMPARE: the slot with the packet; TEST: the outcome.
    if (state == COMPARE) begin
      old      <= !same && entry[31:0] != 0 && distance[31];
      had   <= same ? entry[63:32] : 32'b0;
      greatest <= same && entry[79:64] > exponent ? entry[79:64] : exponent;
      flagged  <= same ? entry[87:80] | flags : flags;
      present  <= same ? entry[63:32] | mask : mask;
    end
    if (state == TEST) begin
      repeated <= (had & mask) != 0;
      first    <= had == 0;
      complete <= present == all;
    end
    if (state == IDLE) state <= valid ? READ : IDLE;
    else state <= state == DONE ? IDLE : state + 1'b1;
    if (rst) begin
      state <= IDLE;
      line  <= 256;
    end
  end

  assign done = state == DONE;
  always @(posedge clk)
    if (state == DECIDE) begin
      set      <= !old && !repeated && first;
      add      <= !old && !repeated && !first;
      harvests <= !old && complete && (!repeated || again);
      pulls    <= !old && again && !complete;
      if (old) outcome <= allreduce_pkg::STALE;
      else if (complete && !repeated) outcome <= allreduce_pkg::COMPLETED;
      else if (complete && again) outcome <= allreduce_pkg::REPEATED;
      else if (again) outcome <= allreduce_pkg::PULLED;
      else if (repeated) outcome <= allreduce_pkg::DUPLICATE;
      else outcome <= first ? allreduce_pkg::OPENED : allreduce_pkg::ADDED;
    end
endmodule
