// SPDX-License-Identifier: Apache-2.0
// `features.select`: chosen columns of chosen rows of a feature matrix (offramp.leo.functions.features).
#pragma once

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

struct FeatureTable {
    Bytes memory;  // rows x columns float32, row after row
    std::uint32_t rows = 0, columns = 0;

    [[nodiscard]] std::uint64_t size() const { return std::uint64_t{rows} * columns * 4; }
};

// Request: rows, columns, then the number of each (4 bytes each); no columns stand for all. Answer: float32.
[[nodiscard]] Answer features_select(const FeatureTable& table, Bytes message, Room answer);

}  // namespace offramp
