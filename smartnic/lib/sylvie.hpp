// SPDX-License-Identifier: Apache-2.0
// `sylvie.quantise` and `sylvie.dequantise`: rows of float32 as packed codes of 1, 2, 4 or 8 bits and back
// (offramp.leo.functions.sylvie, offramp.sylvie.model).
#pragma once

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

// Request: bits, compact (1 byte each), 2 bytes of zeros, rows, columns (4 bytes each), 4 bytes of zeros, seed (8),
// number of each row (8 bytes), the rows. Answer: packed rows, least of each row, greatest of each row.
[[nodiscard]] Answer quantise(Bytes message, Room answer);

// Request: bits (1 byte), 3 bytes of zeros, rows, columns (4 bytes each), 4 bytes of zeros, then what `quantise`
// answers. Answer: the rows.
[[nodiscard]] Answer dequantise(Bytes message, Room answer);

}  // namespace offramp
