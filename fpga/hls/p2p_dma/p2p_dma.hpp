// SPDX-License-Identifier: Apache-2.0
// Copies of any length and alignment between the memories of host, accelerator and NIC: offramp.leo.dma.
#pragma once

#include "common/beat.hpp"

namespace offramp {

constexpr int kMemories = 3;  // host, accelerator, NIC

struct Descriptor {
    ap_uint<8> opcode, source_memory, destination_memory, reserved;
    ap_uint<32> length;
    ap_uint<64> request, source, destination;
};

struct DmaCompletion {
    ap_uint<8> status;
    ap_uint<32> copied;
    ap_uint<64> request;
};

// Carries out `count` descriptors, one after the other; their completions are one packet.
//   limits  bytes of each memory; nothing at or beyond is touched
void p2p_dma(hls::stream<Item<Descriptor>> &descriptors, hls::stream<Item<DmaCompletion>> &completions, Line *host,
             Line *accelerator, Line *nic, const ap_uint<64> limits[kMemories], ap_uint<32> count);

}  // namespace offramp
