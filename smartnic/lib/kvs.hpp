// SPDX-License-Identifier: Apache-2.0
// `kvs.lookup`: the address of a key's value, from a cuckoo table of 64-byte buckets (offramp.leo.functions.kvs).
#pragma once

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

struct KvsTable {
    Bytes memory;               // 64 bytes for each bucket
    std::uint64_t buckets = 0;  // a power of two; 0: there is no table
};

[[nodiscard]] Answer kvs_lookup(const KvsTable& table, Bytes message, Room answer);

}  // namespace offramp
