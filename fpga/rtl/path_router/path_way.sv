// SPDX-License-Identifier: Apache-2.0
// The port on which a packet leaves, as a one-hot word; 0 where the model has no such way (tests/support/rtl/router.py).
module path_way #(
    // Models that can be chosen, one or more: bit 0 direct, bit 1 on-path, bit 2 off-path.
    parameter [2:0] MODELS = 3'b111,
    // The port on which packets come in: 0 and 1 PCIe endpoints, 2 accelerator, 3 NIC.
    parameter PORT = 0
) (
    input  wire [1:0] model,
    input  wire [1:0] destination,  // 0 CPU, 1 accelerator, 2 NIC
    output wire [3:0] way
);
  if (MODELS == 0) begin : wrong_MODELS path_way_needs_MODELS_with_a_bit_set refused (); end
  if (PORT < 0 || PORT > 3) begin : wrong_PORT path_way_needs_PORT_from_0_to_3 refused (); end

  localparam [3:0] ENDPOINT0 = 1, ENDPOINT1 = 2, ACCELERATOR = 4, NIC = 8, NOWHERE = 0;

  // A model that was not built in has no routes.
  wire direct = MODELS[0] && model == 0;
  wire on_path = MODELS[1] && model == 1;
  wire off_path = MODELS[2] && model == 2;

  wire [3:0] to_cpu =
      PORT == 2 ? (off_path ? ENDPOINT1 : direct || on_path ? ENDPOINT0 : NOWHERE)
    : PORT == 3 ? (on_path ? ENDPOINT0 : direct || off_path ? ENDPOINT1 : NOWHERE)
    : NOWHERE;
  wire [3:0] to_accelerator =
      PORT == 0 ? (direct || on_path ? ACCELERATOR : NOWHERE)
    : PORT == 1 ? (off_path ? ACCELERATOR : NOWHERE)
    : PORT == 3 ? (direct ? ENDPOINT1 : on_path || off_path ? ACCELERATOR : NOWHERE)
    : NOWHERE;
  wire [3:0] to_nic =
      PORT == 0 ? (on_path ? NIC : NOWHERE)
    : PORT == 1 ? (direct || off_path ? NIC : NOWHERE)
    : PORT == 2 ? (direct ? ENDPOINT0 : on_path || off_path ? NIC : NOWHERE)
    : NOWHERE;

  assign way = destination == 0 ? to_cpu : destination == 1 ? to_accelerator : destination == 2 ? to_nic : NOWHERE;
endmodule
