// SPDX-License-Identifier: Apache-2.0
// Reasons for callers from C.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "offramp.h"

namespace offramp::store {

inline void tell(char* why, std::string_view reason) {
    if (why == nullptr) return;
    const std::size_t length = std::min<std::size_t>(reason.size(), OFFRAMP_WHY - 1);
    std::memcpy(why, reason.data(), length);
    why[length] = '\0';
}

}  // namespace offramp::store
