// SPDX-License-Identifier: Apache-2.0
// Takes descriptors out of their packets and judges them before anything moves (offramp.leo.dma.check); two cycles each.
module dma_check #(
    // Bits of a beat, 256 or more.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [      191:0] limits,         // bytes of host's, accelerator's and NIC's memory
    input  wire [  WIDTH-1:0] s_axis_tdata,
    input  wire [WIDTH/8-1:0] s_axis_tkeep,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    output reg                valid,
    input  wire               ready,
    output reg  [        7:0] status,
    output reg  [       63:0] number,
    output reg  [        1:0] from,           // memories
    output reg  [        1:0] to,
    output reg  [       31:0] length,
    output reg  [       63:0] source,
    output reg  [       63:0] destination
);
  localparam [7:0] COPY = 1;

  reg begun;  // behind the first beat of a packet
  reg taken, judged;  // a descriptor is in the first register; its ends are in the second
  reg [255:0] word;
  reg whole;
  reg [64:0] source_end, destination_end;

  assign s_axis_tready = begun || (!taken && !judged);

  function [64:0] limit(input [1:0] memory, input [191:0] all);
    limit = memory == 0 ? {1'b0, all[63:0]} : memory == 1 ? {1'b0, all[127:64]} : {1'b0, all[191:128]};
  endfunction

  wire [7:0] opcode = word[7:0], from_all = word[15:8], to_all = word[23:16];
  wire known = opcode == COPY && word[31:24] == 0;
  wire places = from_all < 3 && to_all < 3;
  wire fits = source_end <= limit(word[9:8], limits) && destination_end <= limit(word[17:16], limits);
  wire overlap = from_all == to_all && word[63:32] != 0 && {1'b0, word[191:128]} < destination_end
      && {1'b0, word[255:192]} < source_end;

  always @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready && !begun) begin
      word  <= s_axis_tdata[255:0];
      whole <= s_axis_tlast && &s_axis_tkeep[31:0];
    end
    source_end      <= {1'b0, word[191:128]} + word[63:32];
    destination_end <= {1'b0, word[255:192]} + word[63:32];
    if (judged && !valid) begin
      status <= !whole ? device_pkg::BAD_LENGTH : !known ? device_pkg::UNKNOWN_FUNCTION
          : !places || !fits ? device_pkg::OUT_OF_BOUNDS : overlap ? device_pkg::FAILED : device_pkg::OK;
      number <= word[127:64];
      from <= word[9:8];
      to <= word[17:16];
      length <= word[63:32];
      source <= word[191:128];
      destination <= word[255:192];
    end
    if (rst) begin
      begun  <= 1'b0;
      taken  <= 1'b0;
      judged <= 1'b0;
      valid  <= 1'b0;
    end else begin
      if (s_axis_tvalid && s_axis_tready) begin
        begun <= !s_axis_tlast;
        if (!begun) taken <= 1'b1;
      end
      if (taken && !judged) begin
        taken  <= 1'b0;
        judged <= 1'b1;
      end
      if (judged && !valid) begin
        judged <= 1'b0;
        valid  <= 1'b1;
      end
      if (valid && ready) valid <= 1'b0;
    end
  end
endmodule
