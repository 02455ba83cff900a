// SPDX-License-Identifier: Apache-2.0
// Status with which a function ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/device.hpp"

namespace offramp {

struct Answer {
    Status status;
    std::size_t length = 0;  // bytes
};

}  // namespace offramp
