// SPDX-License-Identifier: Apache-2.0
// Takes descriptors out of their packets and checks them before anything moves (offramp.leo.dma); three cycles each.
module dma_check #(
    // Bits of a beat, a power of two, 256 to 1024.
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [      191:0] limits,         // bytes of host's, accelerator's and NIC's memory
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [  WIDTH-1:0] s_axis_tdata, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
    /* verilator lint_off UNUSEDSIGNAL */ input  wire [WIDTH/8-1:0] s_axis_tkeep, /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
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
    output reg  [       63:0] destination,
    output reg                moves,          // it is well, and there is a byte to copy
    output reg  [       32:0] source_lines,   // that it reads
    output reg  [       32:0] destination_lines
);
  if (WIDTH < 256 || WIDTH > 1024 || (WIDTH & (WIDTH - 1)) != 0) begin : wrong_WIDTH dma_check_needs_WIDTH_a_power_of_two_256_to_1024 refused (); end

  localparam [7:0] COPY = 1;
  localparam LANES = WIDTH / 8;
  localparam LINE = $clog2(LANES);

  reg begun;  // behind the first beat of a packet
  reg taken, summed, judged;  // a descriptor is in the first register; its ends are in the second; what they say is
  reg [255:0] word;
  reg whole;
  reg [64:0] source_end, destination_end;

  assign s_axis_tready = begun || (!taken && !summed && !judged);

  function [63:0] limit(input [1:0] memory, input [191:0] all);
    limit = memory == 0 ? all[63:0] : memory == 1 ? all[127:64] : all[191:128];
  endfunction

  // Limits of the addresses that are read and written.
  wire [64:0] source_sum, destination_sum;
  wide_add source_behind (
      .a(word[191:128]),
      .b({32'b0, word[63:32]}),
      .sum(source_sum)
  );
  wide_add destination_behind (
      .a(word[255:192]),
      .b({32'b0, word[63:32]}),
      .sum(destination_sum)
  );

  wire [3:0] less;
  wire [255:0] unused_rooms;
  wide_subtract source_room (
      .a(limit(word[9:8], limits)),
      .b(source_end[63:0]),
      .difference(unused_rooms[63:0]),
      .borrow(less[0])
  );
  wide_subtract destination_room (
      .a(limit(word[17:16], limits)),
      .b(destination_end[63:0]),
      .difference(unused_rooms[127:64]),
      .borrow(less[1])
  );
  wide_subtract source_before (
      .a(word[191:128]),
      .b(destination_end[63:0]),
      .difference(unused_rooms[191:128]),
      .borrow(less[2])
  );
  wide_subtract destination_before (
      .a(word[255:192]),
      .b(source_end[63:0]),
      .difference(unused_rooms[255:192]),
      .borrow(less[3])
  );

  wire [7:0] opcode = word[7:0], from_all = word[15:8], to_all = word[23:16];
  wire known = opcode == COPY && word[31:24] == 0;
  wire places = from_all < 3 && to_all < 3;
  reg fits, overlap, some;
  wire [7:0] judgement = !whole ? device_pkg::BAD_LENGTH : !known ? device_pkg::UNKNOWN_FUNCTION
      : !places || !fits ? device_pkg::OUT_OF_BOUNDS : overlap ? device_pkg::FAILED : device_pkg::OK;
  /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ wire [LINE:0] source_ahead = {1'b0, word[128+:LINE]} + (LANES - 1); /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // zero-extended; the value fits
  /* verilator lint_off WIDTHEXPAND */ /* verilator lint_off WIDTHTRUNC */ wire [LINE:0] destination_ahead = {1'b0, word[192+:LINE]} + (LANES - 1); /* verilator lint_on WIDTHEXPAND */ /* verilator lint_on WIDTHTRUNC */  // zero-extended; the value fits
  wire [32:0] source_bytes = {1'b0, word[63:32]} + {{32 - LINE{1'b0}}, source_ahead};
  wire [32:0] destination_bytes = {1'b0, word[63:32]} + {{32 - LINE{1'b0}}, destination_ahead};

  always @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready && !begun) begin
      word  <= s_axis_tdata[255:0];
      whole <= s_axis_tlast && &s_axis_tkeep[31:0];
    end
    source_end      <= source_sum;
    destination_end <= destination_sum;
    fits    <= !source_end[64] && !destination_end[64] && !less[0] && !less[1];
    overlap <= from_all == to_all && (destination_end[64] || less[2]) && (source_end[64] || less[3]);
    some    <= word[63:32] != 0;
    if (judged && !valid) begin
      // Without a byte nothing overlaps.
      status <= judgement == device_pkg::FAILED && !some ? device_pkg::OK : judgement;
      moves  <= judgement == device_pkg::OK && some;
      source_lines      <= source_bytes >> LINE;
      destination_lines <= destination_bytes >> LINE;
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
      summed <= 1'b0;
      judged <= 1'b0;
      valid  <= 1'b0;
    end else begin
      if (s_axis_tvalid && s_axis_tready) begin
        begun <= !s_axis_tlast;
        if (!begun) taken <= 1'b1;
      end
      if (taken) begin
        taken  <= 1'b0;
        summed <= 1'b1;
      end
      if (summed) begin
        summed <= 1'b0;
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
