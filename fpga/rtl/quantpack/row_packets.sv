// SPDX-License-Identifier: Apache-2.0
// Takes request packets of rows apart: a header, then groups of a beat of words, one for each row, and the rows.
//
// The header has bits of a code (byte 0), compact (1), columns (2-3), rows (4-7), number of the request (8-15), seed
// (16-23). A row begins with a beat of its own. What comes out is registered; nothing goes back but `room`.
`include "axi.svh"
module row_packets #(
    // Bits of a beat, 256 or 512.
    parameter WIDTH  = 512,
    // Columns that a row may have, up to 32768.
    parameter MOST   = 8192,
    // 0: rows are values of 32 bits; 1: codes.
    parameter PACKED = 0
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               cancel,
    input  wire               room,          // for a beat, and for three jobs
    output wire               idle,
    `AXIS_IN(s_axis, WIDTH),
    output reg                put,           // a beat of a row
    output reg                first,
    output reg                last,          // it ends a row, which is whole
    output reg                drop,          // the beats of the row so far are void
    output reg  [  WIDTH-1:0] data,
    output reg  [        5:0] lanes,         // values in the row's last beat of values, as all that follows of the request
    output reg  [        1:0] size,          // a code has 1 << size bits
    output reg                compact,
    output reg  [       63:0] seed,
    output reg  [       63:0] word,          // of the row
    output reg                job_valid,     // with `last`, or the end of a packet
    output reg                job_end,
    output reg  [      103:0] job            // end: number, rows, status; row: see below
);
  if (WIDTH != 256 && WIDTH != 512) begin : wrong_WIDTH row_packets_needs_WIDTH_of_256_or_512 refused (); end
  if (MOST < 1 || MOST > 32768) begin : wrong_MOST row_packets_needs_MOST_from_1_to_32768 refused (); end
  if (PACKED != 0 && PACKED != 1) begin : wrong_PACKED row_packets_needs_PACKED_of_0_or_1 refused (); end

  localparam LANES = WIDTH / 32;
  localparam GROUP = WIDTH / 64;
  localparam [1:0] HEADER = 0, WORDS = 1, ROWS = 2, DRAIN = 3;

  // The header's beat.
  wire [7:0] bits = s_axis_tdata[7:0];
  wire [15:0] columns = s_axis_tdata[31:16];
  wire [31:0] head_rows = s_axis_tdata[63:32];
  wire [1:0] head_size = {bits[3] || bits[2], bits[3] || bits[1]};
  wire [18:0] code_bits = {3'b0, columns} << head_size;
  wire [15:0] last_values = (columns - 16'd1) / LANES;  // the number of the last beat; there is a column
  /* verilator lint_off WIDTHTRUNC */ wire [15:0] last_codes = (code_bits - 19'd1) / WIDTH; /* verilator lint_on WIDTHTRUNC */  // the value fits
  /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ wire [7:0] rest = PACKED ? ((code_bits + 20'd7) / 8) % (WIDTH / 8) : columns % LANES * 4; /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // bytes; zero-extended; the value fits
  wire [7:0] head_status = !(&s_axis_tkeep[23:0]) ? device_pkg::BAD_LENGTH
      : bits != 8'd1 << head_size || s_axis_tdata[15:9] != 0 || (PACKED && s_axis_tdata[8])
          ? device_pkg::UNKNOWN_FUNCTION
      : columns == 0 ? device_pkg::BAD_LENGTH
      /* verilator lint_off WIDTHEXPAND */ : columns > MOST ? device_pkg::OUT_OF_BOUNDS : device_pkg::OK; /* verilator lint_on WIDTHEXPAND */  // zero-extended

  reg [1:0] state;
  reg [7:0] status;
  reg [31:0] count, left;
  reg [63:0] number;
  reg [15:0] beat, row_end, values_end;
  reg [WIDTH/8-1:0] need;  // bytes of the packet's last beat
  reg [WIDTH-1:0] words;
  reg [3:0] member;  // of the group
  reg closing;  // the packet is over, its end has not been told yet

  wire taken = s_axis_tvalid && s_axis_tready;
  wire ends = beat == row_end;
  wire final_row = left == 1;
  wire final_beat = state == ROWS && ends && final_row;
  /* verilator lint_off WIDTHEXPAND */ wire group_ends = member == GROUP - 1 || final_row; /* verilator lint_on WIDTHEXPAND */  // zero-extended
  wire [WIDTH/8-1:0] wanted = final_beat ? need : {WIDTH / 8{1'b1}};
  wire wrong = s_axis_tlast != final_beat || (s_axis_tkeep & wanted) != wanted;
  wire good = taken && state == ROWS && !wrong && !cancel;

  assign s_axis_tready = room;
  assign idle = state == HEADER && !closing && !job_valid;

  always @(posedge clk) begin
    closing <= taken && s_axis_tlast;
    if (taken) begin
      case (state)
        HEADER: begin
          {size, compact, count, left} <= {head_size, s_axis_tdata[8], head_rows, head_rows};
          {seed, number} <= {s_axis_tdata[191:128], s_axis_tdata[127:64]};
          /* verilator lint_off WIDTHTRUNC */ lanes <= columns % LANES == 0 ? LANES : columns % LANES; /* verilator lint_on WIDTHTRUNC */  // the value fits
          need <= rest == 0 ? {WIDTH / 8{1'b1}} : ~({WIDTH / 8{1'b1}} << rest);
          row_end <= PACKED ? last_codes : last_values;
          values_end <= last_values;
          status <= head_status != device_pkg::OK ? head_status
              : s_axis_tlast != (head_rows == 0) ? device_pkg::BAD_LENGTH : device_pkg::OK;
          state <= s_axis_tlast ? HEADER : head_status != device_pkg::OK || head_rows == 0 ? DRAIN : WORDS;
        end
        WORDS: begin
          words  <= s_axis_tdata;
          member <= 0;
          beat   <= 0;
          state  <= ROWS;
        end
        ROWS: begin
          beat <= ends ? 16'd0 : beat + 1'b1;
          if (ends) begin
            words  <= words >> 64;
            member <= member + 1'b1;
            left   <= left - 1'b1;
            if (group_ends) state <= WORDS;
          end
        end
        default: ;
      endcase
      if ((state == WORDS || state == ROWS) && wrong) begin
        status <= device_pkg::BAD_LENGTH;
        state  <= DRAIN;
      end
      if (s_axis_tlast) state <= HEADER;
    end
    if (cancel && state != HEADER) begin
      status <= device_pkg::ABORTED;
      if (!(taken && s_axis_tlast)) state <= DRAIN;
    end
    if (rst) begin
      state   <= HEADER;
      closing <= 1'b0;
    end
  end

  always @(posedge clk) begin
    data      <= s_axis_tdata;
    word      <= words[63:0];
    put       <= good && !rst;
    first     <= beat == 0;
    last      <= good && ends && !rst;
    drop      <= state == ROWS && (cancel || (taken && wrong));
    job_valid <= ((good && ends) || closing) && !rst;
    job_end   <= closing;
    /* verilator lint_off WIDTHEXPAND */ job       <= closing ? {number, status == device_pkg::OK ? count : 32'b0, cancel ? device_pkg::ABORTED : status} /* verilator lint_on WIDTHEXPAND */  // zero-extended
        : {group_ends, size, lanes, values_end};
  end
endmodule
