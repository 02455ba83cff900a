// SPDX-License-Identifier: Apache-2.0
// `ebs.lookup`: where the blocks of a read lie, by QoS, block table and address table (offramp.leo.functions.ebs).
#pragma once

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

struct EbsTables {
    Room memory;
    std::uint32_t volumes = 0, entries = 0, segments = 0;

    [[nodiscard]] std::uint64_t blocks_at() const { return std::uint64_t{volumes} * 64; }
    [[nodiscard]] std::uint64_t addresses_at() const { return blocks_at() + lines(entries); }
    [[nodiscard]] std::uint64_t size() const { return addresses_at() + lines(segments); }

  private:
    static std::uint64_t lines(std::uint64_t words) { return (words * 8 + 63) / 64 * 64; }
};

// A read that is found takes its tokens from the volume's bucket.
[[nodiscard]] Answer ebs_lookup(const EbsTables& tables, Bytes message, Room answer);

}  // namespace offramp
