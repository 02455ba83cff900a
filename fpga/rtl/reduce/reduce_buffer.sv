// SPDX-License-Identifier: Apache-2.0
// Takes request packets whose vectors come one after the other: keeps all but the last, and sums with the last.
//
// A beat a cycle without a pause, also between packets: a completion leaves while the next header comes.
`include "axi.svh"
module reduce_buffer #(
    // Bits of a beat, a power of two, 128 or more.
    parameter WIDTH = 512,
    // Beats of a vector that fit, a power of two, 2 or more.
    parameter DEPTH = 512,
    // Vectors of a request: 2, 4 or 8; requests of more, up to 8, are answered with UNKNOWN_FUNCTION.
    parameter INPUTS = 8,
    // 1: sums float32 and bfloat16; 0: answers such requests with UNKNOWN_FUNCTION, and lacks their adders.
    parameter FLOAT32S = 1,
    parameter BFLOAT16S = 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,
    output wire               idle,
    `AXIS_IN(s_axis, WIDTH),
    output reg  [        1:0] out_kind,
    output reg  [        7:0] out_present,
    output wire [INPUTS*WIDTH-1:0] out_data,
    output reg                out_end,
    output reg  [      103:0] out_completion,
    output reg                out_valid,
    input  wire               out_ready
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : wrong_DEPTH reduce_buffer_needs_DEPTH_a_power_of_two_2_or_more refused (); end

  localparam BITS = $clog2(DEPTH);
  localparam [1:0] HEADER = 0, VECTORS = 1, DRAIN = 2;

  wire [1:0] head_kind;
  wire [7:0] head_present, head_status;
  wire [31:0] head_count, head_beats;
  wire [63:0] head_number;
  wire [WIDTH/8-1:0] head_need;
  reduce_header #(
      .WIDTH(WIDTH),
      .MOST(DEPTH),
      .INPUTS(INPUTS),
      .FLOAT32S(FLOAT32S),
      .BFLOAT16S(BFLOAT16S)
  ) header (
      .data(s_axis_tdata[127:0]),
      .whole(&s_axis_tkeep[15:0]),
      .kind(head_kind),
      .present(head_present),
      .count(head_count),
      .number(head_number),
      .beats(head_beats),
      .need(head_need),
      .status(head_status)
  );

  reg [1:0] state, kind;
  reg [7:0] present, vector, status;  // the current vector as one bit
  reg [31:0] count;
  reg [63:0] number;
  reg [BITS-1:0] place, final_place;
  reg [WIDTH/8-1:0] need;
  reg closing;  // the packet is over, its completion has not left yet

  wire free = !out_valid || out_ready;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire vector_ends = place == final_place;
  wire last_vector = !(|(present & ~vector & ~(vector - 1'b1)));
  wire final_beat = vector_ends && last_vector;
  wire [WIDTH/8-1:0] wanted = final_beat ? need : {WIDTH / 8{1'b1}};
  wire wrong = s_axis_tlast != final_beat || (s_axis_tkeep & wanted) != wanted;
  wire feed = taken && state == VECTORS && last_vector;

  assign s_axis_tready = free;
  assign idle = state == HEADER && !closing && !out_valid;

  always @(posedge clk) begin
    if (free) closing <= 1'b0;
    if (taken) begin
      case (state)
        HEADER: begin
          {kind, present, count, number, need} <= {head_kind, head_present, head_count, head_number, head_need};
          status <= head_status != device_pkg::OK ? head_status
              : s_axis_tlast != (head_beats == 0) ? device_pkg::BAD_LENGTH : device_pkg::OK;
          vector <= 8'b1;
          place <= 0;
          /* verilator lint_off WIDTHTRUNC */ final_place <= head_beats - 1'b1; /* verilator lint_on WIDTHTRUNC */  // the value fits
          state <= s_axis_tlast ? HEADER : head_status != device_pkg::OK || head_beats == 0 ? DRAIN : VECTORS;
        end
        VECTORS: begin
          place <= vector_ends ? {BITS{1'b0}} : place + 1'b1;
          if (vector_ends) vector <= vector << 1;
          if (wrong) status <= device_pkg::BAD_LENGTH;
          if (s_axis_tlast) state <= HEADER;
          else if (final_beat || wrong) state <= DRAIN;
        end
        default: if (s_axis_tlast) state <= HEADER;
      endcase
      closing <= s_axis_tlast;
    end
    if (cancel && (state != HEADER || (closing && !free))) begin
      status <= device_pkg::ABORTED;
      if (!(taken && s_axis_tlast) && state != HEADER) state <= DRAIN;
    end
    if (rst) begin
      state   <= HEADER;
      closing <= 1'b0;
    end
  end

  // Output: sums of the last vector's beats with those kept, and completions.
  reg [WIDTH-1:0] live;
  /* verilator lint_off UNUSEDSIGNAL */ reg [7:0] live_vector; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  always @(posedge clk) begin
    if (free) begin
      out_kind <= kind;
      out_present <= present;
      out_end <= closing;
      out_completion <= {number, status == device_pkg::OK ? count : 32'b0, cancel ? device_pkg::ABORTED : status};
      live <= s_axis_tdata;
      live_vector <= vector;
    end else if (cancel) out_completion[7:0] <= device_pkg::ABORTED;
    if (rst) out_valid <= 1'b0;
    else if (free) out_valid <= closing || feed;
  end

  genvar v;
  generate
    for (v = 0; v < INPUTS; v = v + 1) begin : vectors
      if (v == INPUTS - 1) begin : last
        assign out_data[v*WIDTH+:WIDTH] = live;
      end else begin : kept
        reg [WIDTH-1:0] memory[0:DEPTH-1];
        reg [WIDTH-1:0] word;
        always @(posedge clk) begin
          if (taken && state == VECTORS && vector[v] && !last_vector) memory[place] <= s_axis_tdata;
          if (free) word <= memory[place];
        end
        assign out_data[v*WIDTH+:WIDTH] = live_vector[v] ? live : word;
      end
    end
  endgenerate
endmodule
