// SPDX-License-Identifier: Apache-2.0
// Which way beats take between the two PCIe endpoints, the accelerator and the NIC: tests/support/rtl/router.py.
#pragma once

#include "common/beat.hpp"

namespace offramp {

constexpr int kPorts = 4;  // endpoint 0, endpoint 1, accelerator, NIC
constexpr int kNowhere = 7;

enum HardwareModel { kDirect = 0, kOnPath = 1, kOffPath = 2 };
enum Destination { kToCpu = 0, kToAccelerator = 1, kToNic = 2 };

using Routed = Item<Line, 2>;  // `dest` of a packet's first beat is its Destination

// The port on which a packet leaves, or kNowhere.
ap_uint<3> route(ap_uint<2> model, ap_uint<2> port, ap_uint<2> destination);

// Moves the packets that have come in by port: packets stay whole, those of one pair of ports keep their order, and one
// that waits for its port holds up no other port's.
//   refused  counts packets with nowhere to go
void path_router(hls::stream<Routed> in[kPorts], hls::stream<Beat> out[kPorts], ap_uint<2> model,
                 ap_uint<32> &refused);

}  // namespace offramp
