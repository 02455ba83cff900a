// SPDX-License-Identifier: Apache-2.0
// CRCs of a 64-bit key: two XOR trees. Equal to offramp.leo.functions.crc.
#pragma once

#include <ap_int.h>

namespace offramp {

constexpr unsigned kCrc32 = 0xEDB88320;
constexpr unsigned kCrc32c = 0x82F63B78;

template <unsigned polynomial>
ap_uint<32> crc(ap_uint<64> key) {
#pragma HLS inline
    ap_uint<32> state = 0xFFFFFFFF;
    for (int bit = 0; bit < 64; ++bit) {
#pragma HLS unroll
        const bool out = state[0] != key[bit];
        state = (state >> 1) ^ (out ? ap_uint<32>(polynomial) : ap_uint<32>(0));
    }
    return ~state;
}

}  // namespace offramp
