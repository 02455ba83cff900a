// SPDX-License-Identifier: Apache-2.0
// `reduce`: the sum of up to eight vectors (offramp.leo.functions.reduce), by Highway on AVX-512, AVX2, SSE4 or NEON.
#pragma once

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

[[nodiscard]] Answer reduce(Bytes message, Room answer);

// The instruction set that this machine runs it with.
[[nodiscard]] const char* reduce_target();

}  // namespace offramp
