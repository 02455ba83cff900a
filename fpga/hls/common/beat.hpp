// SPDX-License-Identifier: Apache-2.0
// Beats of AXI-Streams. Vitis takes its own struct, whose side channels it knows; C simulation one like it.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

#ifdef __SYNTHESIS__
#include <ap_axi_sdata.h>
#endif

namespace offramp {

#ifdef __SYNTHESIS__
template <typename T, int kDestination = 0>
using Item = hls::axis<T, 0, 0, kDestination>;
#else
template <typename T, int kDestination = 0>
struct Item {
    T data;
    ap_uint<64> keep, strb;  // a bit for each byte of data that counts
    ap_uint<1> last;         // the end of a row, vector, packet or run: where an AXI DMA ends a transfer
    ap_uint<kDestination ? kDestination : 1> dest;
};
#endif

using Beat = Item<ap_uint<512>>;
using Line = ap_uint<512>;  // of memory

// Elements behind each m_axi port in co-simulation: `depth`, without which Vitis's simulation lacks the memory.
constexpr int kSimulatedLines = 1024;

// The bits of keep for the first `bytes` (1 to 64) of a beat.
inline ap_uint<64> first_bytes(ap_uint<7> bytes) {
    return ~ap_uint<64>(0) >> (64 - int(bytes));
}

// A beat whose every byte counts.
template <typename T>
Item<T> item_of(const T &data, bool last) {
#pragma HLS inline
    Item<T> item;
    item.data = data;
    item.keep = -1;
    item.strb = -1;
    item.last = last;
    return item;
}

}  // namespace offramp
