// SPDX-License-Identifier: Apache-2.0
// Answers descriptors in order: those that move nothing at once, others when their copy is done.
`include "axi.svh"
module dma_complete #(
    // Bits of a beat, a multiple of 8, 128 or more.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               flush,          // copies were aborted, and nothing is under way any more
    input  wire               done_valid,     // the first copy that is not answered has been written
    output wire               done_ready,
    input  wire [        1:0] done_response,  // the worst of its reads and writes
    input  wire               job_valid,
    output wire               job_ready,
    input  wire [        7:0] job_status,
    input  wire               job_moves,
    input  wire [       31:0] job_length,
    input  wire [       63:0] job_number,
    `AXIS_OUT(m_axis, WIDTH)
);
  if (WIDTH < 128 || WIDTH % 8 != 0) begin : wrong_WIDTH dma_complete_needs_WIDTH_a_multiple_of_8_128_or_more refused (); end

  wire aborted = job_moves && !done_valid && flush;
  wire answers = job_valid && (!job_moves || done_valid || aborted);
  wire [7:0] status = aborted ? device_pkg::ABORTED : !job_moves || done_response == 0 ? job_status
      : done_response == 3 ? device_pkg::OUT_OF_BOUNDS : device_pkg::FAILED;
  wire room;

  assign job_ready  = answers && room;
  assign done_ready = job_ready && job_moves && !aborted;

  skid_buffer #(
      .WIDTH(104)
  ) out (
      .*,
      .in_data({job_number, status == device_pkg::OK ? job_length : 32'b0, status}),
      .in_valid(answers),
      .in_ready(room),
      .out_data({m_axis_tdata[127:32], m_axis_tdata[7:0]}),
      .out_valid(m_axis_tvalid),
      .out_ready(m_axis_tready)
  );

  assign m_axis_tdata[31:8] = 24'b0;
  assign m_axis_tdata[WIDTH-1:128] = {WIDTH - 128{1'b0}};
  assign m_axis_tkeep = {WIDTH / 8{1'b1}};  // a whole beat, as DMA engines want it
  assign m_axis_tlast = 1'b1;
endmodule
