// SPDX-License-Identifier: Apache-2.0
// Reasons for callers from C.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "offramp.h"

namespace offramp::store {

inline void tell(char* error, std::string_view reason) {
    if (error == nullptr) return;
    const std::size_t length = std::min<std::size_t>(reason.size(), OFFRAMP_ERROR_BYTES - 1);
    std::memcpy(error, reason.data(), length);
    error[length] = '\0';
}

}  // namespace offramp::store
