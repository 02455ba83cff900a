// SPDX-License-Identifier: Apache-2.0
// The number of a frame's flow: the same for all frames that must stay in order.
#pragma once

#include <cstdint>
#include <cstring>

namespace offramp {

inline std::uint32_t mixed(std::uint64_t word) {
    word *= 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(word >> 32) ^ static_cast<std::uint32_t>(word);
}

inline std::uint64_t word_at(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// Addresses of IPv4 or IPv6, behind up to two VLAN tags; of other frames those of Ethernet and the type.
inline std::uint32_t flow_hash(const std::uint8_t* frame, unsigned length) {
    if (length < 14) return 0;
    unsigned at = 12;
    const auto type = [&] { return static_cast<unsigned>(frame[at] << 8 | frame[at + 1]); };
    for (unsigned tags = 0; tags < 2 && (type() == 0x8100 || type() == 0x88a8) && length >= at + 6; ++tags) at += 4;
    if (type() == 0x0800 && length >= at + 22) return mixed(word_at(frame + at + 14));
    if (type() == 0x86dd && length >= at + 42) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < 4; ++i) sum = sum * 0x100000001b3u + mixed(word_at(frame + at + 10 + 8 * i));
        return mixed(sum);
    }
    return mixed(word_at(frame) ^ word_at(frame + 6));
}

}  // namespace offramp
