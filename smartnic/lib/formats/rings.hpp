// SPDX-License-Identifier: Apache-2.0
// Rings of messages of many frames in shared memory (offramp_base.transport.shm.rings). Written by ci/formats: change
// it there.
#pragma once

#include <cstdint>

namespace offramp::rings {

// A ring begins with its head, and whether the producer waits for room.
inline constexpr std::uint64_t wants_at = 8;
inline constexpr std::uint64_t tail_at = 64;
inline constexpr std::uint64_t entries_at = 128;
inline constexpr std::uint64_t ring_bytes = 0x100000;
inline constexpr std::uint64_t entry_bytes = 40;
inline constexpr std::uint64_t length_at = 0;
inline constexpr std::uint64_t frames_at = 8;
inline constexpr std::uint64_t message_bytes = 196608;
inline constexpr std::uint64_t most_message = 229376;

inline constexpr std::uint64_t skip = 0xFFFFFFFFFFFFFFFF;

}  // namespace offramp::rings
