// SPDX-License-Identifier: Apache-2.0
// Routes between the CPU's two PCIe endpoints, the accelerator and the NIC (specification section 8, figure 6.9; model:
// tests/support/rtl/router.py). A register says which hardware model is emulated.
//
// Each pair of ports has a queue of its own, so a packet that waits for its port holds up nothing on another way, as long
// as senders watch *_room: bit p says that the queue to port p has room for a packet of PACKET beats. Packets stay whole,
// and those of a pair keep their order. Every port takes and gives a beat in each cycle; latency 3 cycles.
`include "axi.svh"
module path_router #(
    // Bits of a beat, a multiple of 8.
    parameter WIDTH = 512,
    // Beats of each queue, a power of two.
    parameter DEPTH = 256,
    // Beats of the longest packet, a power of two up to DEPTH / 2.
    parameter PACKET = 64,
    // Models that can be chosen, one or more: bit 0 direct, bit 1 on-path, bit 2 off-path: muxes of the others are left out.
    parameter [2:0] MODELS = 3'b111
) (
    input  wire clk,
    input  wire rst,
    `AXIL_PORTS(s_axil),
    `AXIS_IN(s_axis_ep0, WIDTH),
    input wire [1:0] s_axis_ep0_tdest,
    output wire [3:0] s_axis_ep0_room,
    `AXIS_OUT(m_axis_ep0, WIDTH),
    `AXIS_IN(s_axis_ep1, WIDTH),
    input wire [1:0] s_axis_ep1_tdest,
    output wire [3:0] s_axis_ep1_room,
    `AXIS_OUT(m_axis_ep1, WIDTH),
    `AXIS_IN(s_axis_acc, WIDTH),
    input wire [1:0] s_axis_acc_tdest,
    output wire [3:0] s_axis_acc_room,
    `AXIS_OUT(m_axis_acc, WIDTH),
    `AXIS_IN(s_axis_nic, WIDTH),
    input wire [1:0] s_axis_nic_tdest,
    output wire [3:0] s_axis_nic_room,
    `AXIS_OUT(m_axis_nic, WIDTH)
);
  if (WIDTH < 8 || WIDTH % 8 != 0) begin : wrong_WIDTH path_router_needs_WIDTH_a_multiple_of_8_8_or_more refused (); end

  localparam BEAT = WIDTH + WIDTH / 8 + 1;

  wire [1:0] model;
  reg [15:0] all_refused;

  path_router_regs regs (
      .*,
      .hwif_out_model_value(model),
      .hwif_in_models_value({29'b0, MODELS}),
      .hwif_in_refused_value({16'b0, all_refused})
  );

  wire [4*BEAT-1:0] in_beat, out_beat, entering;
  wire [3:0] in_valid, in_ready, in_last, out_valid, out_ready, refused;
  wire [7:0] in_destination;
  /* verilator lint_off UNUSEDSIGNAL */ wire [15:0] entering_valid, entering_ready, room; /* verilator lint_on UNUSEDSIGNAL */  // bit 4 * from + to; the other bits are not needed

  // Queues that exist: those that some model needs.
  function exists(input integer from, input integer to);
    case (4 * from + to)
      2: exists = MODELS[0] || MODELS[1];  // endpoint 0 to accelerator
      3: exists = MODELS[1];  // endpoint 0 to NIC
      6: exists = MODELS[2];  // endpoint 1 to accelerator
      7: exists = MODELS[0] || MODELS[2];  // endpoint 1 to NIC
      8: exists = MODELS[0] || MODELS[1];  // accelerator to endpoint 0
      9: exists = MODELS[2];  // accelerator to endpoint 1
      11: exists = MODELS[1] || MODELS[2];  // accelerator to NIC
      12: exists = MODELS[1];  // NIC to endpoint 0
      13: exists = MODELS[0] || MODELS[2];  // NIC to endpoint 1
      14: exists = MODELS[1] || MODELS[2];  // NIC to accelerator
      default: exists = 1'b0;
    endcase
  endfunction

  // Connects a port's streams, by its number, to the queues.
  `define ROUTER_PORT(NUMBER, NAME) \
  assign in_beat[NUMBER*BEAT+:BEAT] = {s_axis_``NAME``_tlast, s_axis_``NAME``_tkeep, s_axis_``NAME``_tdata}; \
  assign in_last[NUMBER] = s_axis_``NAME``_tlast; \
  assign in_destination[2*NUMBER+:2] = s_axis_``NAME``_tdest; \
  assign in_valid[NUMBER] = s_axis_``NAME``_tvalid; \
  assign s_axis_``NAME``_tready = in_ready[NUMBER]; \
  assign s_axis_``NAME``_room = room[4*NUMBER+:4]; \
  assign {m_axis_``NAME``_tlast, m_axis_``NAME``_tkeep, m_axis_``NAME``_tdata} = out_beat[NUMBER*BEAT+:BEAT]; \
  assign m_axis_``NAME``_tvalid = out_valid[NUMBER]; \
  assign out_ready[NUMBER] = m_axis_``NAME``_tready;
  `ROUTER_PORT(0, ep0)
  `ROUTER_PORT(1, ep1)
  `ROUTER_PORT(2, acc)
  `ROUTER_PORT(3, nic)

  genvar from, to;
  generate
    for (from = 0; from < 4; from = from + 1) begin : ports
      path_in #(
          .WIDTH (BEAT),
          .MODELS(MODELS),
          .PORT  (from)
      ) entry (
          .*,
          .beat(in_beat[from*BEAT+:BEAT]),
          .last(in_last[from]),
          .destination(in_destination[2*from+:2]),
          .valid(in_valid[from]),
          .ready(in_ready[from]),
          .to_data(entering[from*BEAT+:BEAT]),
          .to_valid(entering_valid[4*from+:4]),
          .to_ready(entering_ready[4*from+:4]),
          .refused(refused[from])
      );
    end
    // Queues to each port, those that no model needs tied off.
    for (to = 0; to < 4; to = to + 1) begin : ways
      wire [4*BEAT-1:0] queued;
      /* verilator lint_off UNUSEDSIGNAL */ wire [3:0] queued_valid, queued_ready; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
      for (from = 0; from < 4; from = from + 1) begin : queues
        if (exists(from, to)) begin : way
          deep_fifo #(
              .WIDTH(BEAT),
              .DEPTH(DEPTH),
              .ROOM (PACKET)
          ) queue (
              .*,
              .in_data(entering[from*BEAT+:BEAT]),
              .in_valid(entering_valid[4*from+to]),
              .in_ready(entering_ready[4*from+to]),
              .out_data(queued[from*BEAT+:BEAT]),
              .out_valid(queued_valid[from]),
              .out_ready(queued_ready[from]),
              .room(room[4*from+to])
          );
        end else begin : none
          assign queued[from*BEAT+:BEAT] = {BEAT{1'b0}};
          assign queued_valid[from] = 1'b0;
          assign entering_ready[4*from+to] = 1'b0;
          assign room[4*from+to] = 1'b0;
        end
      end
      path_out #(
          .WIDTH(BEAT),
          .COUNT(4),
          .USED ({exists(3, to), exists(2, to), exists(1, to), exists(0, to)})
      ) exit (
          .*,
          .from_data(queued),
          .from_valid(queued_valid),
          .from_ready(queued_ready),
          .data(out_beat[to*BEAT+:BEAT]),
          .valid(out_valid[to]),
          .ready(out_ready[to])
      );
    end
  endgenerate

  // Up to four packets end in a cycle.
  wire [2:0] ended = {2'b0, refused[0]} + {2'b0, refused[1]} + {2'b0, refused[2]} + {2'b0, refused[3]};

  /* verilator lint_off WIDTHEXPAND */ always @(posedge clk) all_refused <= rst ? 16'b0 : all_refused + ended; /* verilator lint_on WIDTHEXPAND */  // zero-extended
endmodule
