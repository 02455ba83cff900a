// SPDX-License-Identifier: Apache-2.0
// All of a store as records: what a log begins with, and what those who follow the store are sent first.
#pragma once

#include <cstdint>
#include <string_view>

#include "store.hpp"

namespace offramp::store {

// Writes all bytes, also where the descriptor does not wait. False: it cannot, or nothing was taken for a minute.
bool write_all(int to, std::string_view bytes);

// Writes a snapshot; runs in a copy of the process. Its records are numbered from 1; the last one says which the log's was.
bool write_snapshot(const Store& store, int to, std::uint64_t number);

}  // namespace offramp::store
