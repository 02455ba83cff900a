// SPDX-License-Identifier: Apache-2.0
// Sylvie's quantiser: rows of float32 as packed codes and back: offramp.sylvie.model.
#pragma once

#include "common/beat.hpp"

namespace offramp {

struct Bounds {
    ap_uint<32> least, greatest;  // float32
    ap_uint<1> wrong;             // NaN, infinity or a range beyond float32: the codes mean nothing
};

constexpr int kLanes = 16;           // of a beat
constexpr int kMostColumns = 8192;   // of a row

// Codes of `rows` rows, each a beat of sixteen values in a cycle.
//   numbers  of the rows: what their random numbers go by
//   values   ceil(columns/16) beats a row
//   bounds   of each row, all in one packet; codes and values have a packet for each row
//   packed   ceil(columns*bits/512) beats a row, the first code in the lowest bits
//   bits     1, 2, 4 or 8
//   compact  bounds that are bfloat16 values
void quantise(hls::stream<Item<ap_uint<64>>> &numbers, hls::stream<Beat> &values, hls::stream<Item<Bounds>> &bounds,
              hls::stream<Beat> &packed, ap_uint<64> seed, ap_uint<16> columns, ap_uint<4> bits, bool compact,
              ap_uint<32> rows);

// The inverse, a beat of sixteen values in a cycle.
void dequantise(hls::stream<Item<Bounds>> &bounds, hls::stream<Beat> &packed, hls::stream<Beat> &values,
                ap_uint<16> columns, ap_uint<4> bits, ap_uint<32> rows);

}  // namespace offramp
