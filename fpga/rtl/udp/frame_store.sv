// SPDX-License-Identifier: Apache-2.0
// Holds frames until they are known to be whole: beats come in at any time and are never refused; with a frame's last beat
// it is kept with its kind, or forgotten. A frame for which there is no room is forgotten, too.
module frame_store #(
    // Beats, a power of two, 128 or more.
    parameter DEPTH = 512
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [127:0] in_data,
    input  wire [  3:0] in_count,
    input  wire         in_last,
    input  wire [  1:0] in_kind,   // 0: forget it
    input  wire         in_valid,
    output wire         overflow,  // a frame of a kind was forgotten
    output reg  [127:0] out_data,
    output reg  [  3:0] out_count,
    output reg          out_last,
    output wire [  1:0] out_kind,  // of the frame whose beats are offered
    output reg          out_valid,
    input  wire         out_ready
);
  localparam BITS = $clog2(DEPTH);

  (* ram_style = "block", no_rw_check *)  // what is fetched was kept before
  reg [132:0] memory[0:DEPTH-1];
  reg [BITS:0] written, kept, taken;
  reg full;  // a beat of this frame had no room

  wire room = written - taken != DEPTH;
  wire keep = in_valid && in_last && in_kind != 0 && room && !full;
  wire fetch = taken != kept && (!out_valid || out_ready);
  assign overflow = in_valid && in_last && in_kind != 0 && !keep;

  // Of frames with four beats or more, each has a place here.
  fifo #(
      .WIDTH(2),
      .DEPTH(DEPTH / 2)
  ) kinds (
      .clk(clk),
      .rst(rst),
      .in_data(in_kind),
      .in_valid(keep),
      /* verilator lint_off PINCONNECTEMPTY */ .in_ready(), /* verilator lint_on PINCONNECTEMPTY */  // credits have counted what comes
      .out_data(out_kind),
      /* verilator lint_off PINCONNECTEMPTY */ .out_valid(), /* verilator lint_on PINCONNECTEMPTY */  // not needed here
      .out_ready(out_valid && out_ready && out_last),
      /* verilator lint_off PINCONNECTEMPTY */ .level() /* verilator lint_on PINCONNECTEMPTY */  // the level is not needed
  );

  always @(posedge clk) begin
    if (in_valid && room) memory[written[BITS-1:0]] <= {in_last, in_count, in_data};
    if (fetch) {out_last, out_count, out_data} <= memory[taken[BITS-1:0]];
    if (rst) begin
      written   <= 0;
      kept      <= 0;
      taken     <= 0;
      full      <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (in_valid) begin
        if (in_last) begin
          written <= keep ? written + 1'b1 : kept;
          full    <= 1'b0;
        end else if (room && !full) written <= written + 1'b1;
        else full <= 1'b1;
      end
      if (keep) kept <= written + 1'b1;
      if (fetch) taken <= taken + 1'b1;
      if (fetch || out_ready) out_valid <= fetch;
    end
  end
endmodule
