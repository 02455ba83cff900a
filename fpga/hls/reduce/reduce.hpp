// SPDX-License-Identifier: Apache-2.0
// The sum of up to eight vectors: offramp.leo.functions.reduce.
#pragma once

#include "common/beat.hpp"
#include "common/device.hpp"

namespace offramp {

constexpr int kVectors = 8;

// Takes a beat of each vector and gives a beat of the sum, in every cycle.
//   vectors  the first `number` (1 to 8) are read
//   sum      keeps what the first vector keeps
//   type     an ElementType
//   beats    of a vector
void reduce(hls::stream<Beat> vectors[kVectors], hls::stream<Beat> &sum, ap_uint<2> type, ap_uint<4> number,
            ap_uint<32> beats);

}  // namespace offramp
