// SPDX-License-Identifier: Apache-2.0
// What one worker sent, received and refused (offramp.switchgnn.stats); written to the host as 64-bit numbers.
#pragma once

#include <cstdint>

namespace offramp::switchgnn {

struct LinkCounts {
    std::uint64_t packets = 0, data_packets = 0, payload_bytes = 0, wire_bytes = 0;
};

struct Stats {
    LinkCounts up, down;
    std::uint64_t rounds = 0, results = 0, raws = 0, fetches = 0, pulled = 0, resends = 0, reuploads = 0, marks = 0,
                  duplicates = 0, stale = 0, foreign = 0, truncated = 0, rejected = 0;
};
static_assert(sizeof(Stats) == 21 * 8);

}  // namespace offramp::switchgnn
