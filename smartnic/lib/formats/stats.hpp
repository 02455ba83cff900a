// SPDX-License-Identifier: Apache-2.0
// What one worker sent, received and refused (offramp.switchgnn.stats); the host reads it as 64-bit numbers. Written by
// ci/formats: change it there.
#pragma once

#include <cstdint>

namespace offramp::switchgnn {

// One direction of a worker's link.
struct LinkCounts {
    std::uint64_t packets, data_packets, payload_bytes, wire_bytes;
};
static_assert(sizeof(LinkCounts) == 32);

struct Stats {
    LinkCounts up{}, down{};
    std::uint64_t rounds = 0;
    std::uint64_t results = 0;
    std::uint64_t raws = 0;
    std::uint64_t fetches = 0;
    std::uint64_t pulled = 0;
    std::uint64_t resends = 0;
    std::uint64_t reuploads = 0;
    std::uint64_t marks = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t stale = 0;
    std::uint64_t foreign = 0;
    std::uint64_t truncated = 0;
    std::uint64_t rejected = 0;
};
static_assert(sizeof(Stats) == 168);

}  // namespace offramp::switchgnn
