// SPDX-License-Identifier: Apache-2.0
// Messages of many frames on a Unix socket (offramp_base.transport.framing). Written by ci/formats: change it there.
#pragma once

#include <cstdint>

namespace offramp::framing {

inline constexpr std::uint64_t message_bytes = 196608;
inline constexpr std::uint64_t most_message = 212996;

}  // namespace offramp::framing
