// SPDX-License-Identifier: Apache-2.0
// Turns a job's source lines into its destination lines: bytes move by the difference of both alignments, and strobes
// leave the rest of the first and the last line alone. From a line on whose read failed, nothing is written. Latency 3.
module dma_align #(
    // Bits of a line, a power of two, 256 to 1024.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               job_valid,
    output wire               job_ready,
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [       63:0] job_source, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [       63:0] job_destination, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [       31:0] job_length, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    input  wire [       32:0] job_source_lines,
    input  wire [       32:0] job_destination_lines,
    input  wire [  WIDTH+1:0] line,             // response, data
    input  wire               line_valid,
    output wire               line_ready,
    output wire [WIDTH/8-1:0] out_strobe,
    output wire [  WIDTH-1:0] out_data,
    output wire [        1:0] out_response,     // the worst so far
    output wire               out_valid,
    input  wire               out_ready
);
  if (WIDTH < 256 || WIDTH > 1024 || (WIDTH & (WIDTH - 1)) != 0) begin : wrong_WIDTH dma_align_needs_WIDTH_a_power_of_two_256_to_1024 refused (); end

  localparam LANES = WIDTH / 8;
  localparam LINE = $clog2(LANES);
  localparam COARSE = LINE - LINE / 2;  // bits of the shift in the first of two steps

  reg busy, primed, first;
  reg [LINE-1:0] shift, into, last_byte;
  reg [32:0] coming, going;  // lines
  reg [WIDTH-1:0] low;
  reg [1:0] worst;

  wire [LINE-1:0] begin_source = job_source[LINE-1:0], begin_destination = job_destination[LINE-1:0];

  // Step 1: a line with the one before it.
  wire free;
  wire wants = coming != 0;
  wire step = busy && primed && (!wants || line_valid) && free;
  wire prime = busy && !primed && line_valid;
  wire [1:0] response = line_valid && wants && line[WIDTH+1:WIDTH] > worst ? line[WIDTH+1:WIDTH] : worst;
  wire final_line = going == 1;

  assign line_ready = prime || (step && wants);
  assign job_ready  = !busy;

  wire [LANES-1:0] not_before = {LANES{1'b1}} << into;
  wire [LANES-1:0] not_after = {LANES{1'b1}} >> ~last_byte;
  wire [LANES-1:0] strobe = (first ? not_before : {LANES{1'b1}}) & (final_line ? not_after : {LANES{1'b1}})
      & {LANES{response == 0}};

  always @(posedge clk) begin
    if (job_valid && job_ready) begin
      shift     <= begin_source - begin_destination;
      into      <= begin_destination;
      last_byte <= begin_destination + job_length[LINE-1:0] - 1'b1;
      coming    <= job_source_lines;
      going     <= job_destination_lines;
      low       <= {WIDTH{1'b0}};
      worst     <= 2'b00;
      first     <= 1'b1;
      primed    <= begin_source < begin_destination;  // what comes before the first line is not looked at
    end else begin
      if (line_ready) begin
        low    <= line[WIDTH-1:0];
        coming <= coming - 1'b1;
        worst  <= prime && line[WIDTH+1:WIDTH] > worst ? line[WIDTH+1:WIDTH] : response;
      end
      if (prime) primed <= 1'b1;
      if (step) begin
        first <= 1'b0;
        going <= going - 1'b1;
      end
    end
    if (rst) busy <= 1'b0;
    else if (!busy) busy <= job_valid;
    else if (step && final_line) busy <= 1'b0;
  end

  // Steps 2 and 3: the shift, first by many bytes, then by few.
  reg [2*WIDTH-1:0] wide;
  reg [LINE-1:0] wide_shift;
  reg [LANES-1:0] wide_strobe;
  reg [1:0] wide_response;
  reg wide_valid;
  wire narrow_free;
  wire [2*WIDTH-1:0] pair = {wants ? line[WIDTH-1:0] : {WIDTH{1'b0}}, low};
  wire [LINE-1:0] fine_mask = {LINE{1'b1}} >> COARSE;
  assign free = !wide_valid || narrow_free;

  always @(posedge clk) begin
    if (free) begin
      wide          <= pair >> {shift & ~fine_mask, 3'b0};
      wide_shift    <= shift & fine_mask;
      wide_strobe   <= strobe;
      wide_response <= response;
    end
    if (rst) wide_valid <= 1'b0;
    else if (free) wide_valid <= step;
  end

  /* verilator lint_off UNUSEDSIGNAL */ wire [2*WIDTH-1:0] shifted = wide >> {wide_shift, 3'b0}; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  skid_buffer #(
      .WIDTH(WIDTH + LANES + 2)
  ) narrow (
      .*,
      .in_data({wide_response, wide_strobe, shifted[WIDTH-1:0]}),
      .in_valid(wide_valid),
      .in_ready(narrow_free),
      .out_data({out_response, out_strobe, out_data})
  );
endmodule
