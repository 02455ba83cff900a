// SPDX-License-Identifier: Apache-2.0
// Random numbers by place: offramp.sylvie.streams.
#pragma once

#include "common/float32.hpp"

namespace offramp {

// The two keys of a row: SplitMix64's finaliser of seed and row.
inline ap_uint<64> row_key(ap_uint<64> seed, ap_uint<64> row) {
#pragma HLS inline
    const ap_uint<64> golden = 0x9E3779B97F4A7C15ULL;
    ap_uint<64> word = seed + (row + 1) * golden;
    word = (word ^ (word >> 30)) * ap_uint<64>(0xBF58476D1CE4E5B9ULL);
    word = (word ^ (word >> 27)) * ap_uint<64>(0x94D049BB133111EBULL);
    return word ^ (word >> 31);
}

// What rounds the element in `lane` of the row's `beat`: two beats share sixteen words, half a word each.
inline float32::Word rounding(ap_uint<64> key, ap_uint<16> beat, int lane) {
#pragma HLS inline
    const ap_uint<32> place = ap_uint<32>(beat >> 1) * 16 + lane;
    ap_uint<32> word = place * ap_uint<32>(0x9E3779B9) + ap_uint<32>(key);
    word = (word ^ (word >> 16)) * ap_uint<32>(0x7FEB352D);
    word ^= ap_uint<32>(key >> 32);
    word = (word ^ (word >> 15)) * ap_uint<32>(0x846CA68B);
    word ^= word >> 16;
    const ap_uint<16> half = beat[0] ? word(31, 16) : word(15, 0);
    return float32::of_integer((ap_uint<24>(half) << 1) | 1, -17);
}

}  // namespace offramp
