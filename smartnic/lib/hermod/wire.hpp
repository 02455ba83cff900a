// SPDX-License-Identifier: Apache-2.0
// Hermod's frames between agents: Ethernet, IPv4 with the coflow's DSCP, UDP, a header of 32 bytes, and of DATA up to 1,408
// bytes of a message. All numbers are in network order.
#pragma once

#include <array>
#include <cstdint>

#include "bytes.hpp"
#include "formats/queue.hpp"

namespace offramp::hermod {

inline constexpr std::size_t prefix_bytes = 42, header_bytes = prefix_bytes + 32, cell = 1408,
                             frame_bytes = header_bytes + cell;
inline constexpr std::uint16_t udp_port = 47810;

// DATA: bytes `start` to `stop` of a message. READY: the receiver waits for them. DONE: it has all of the message.
enum class Kind : std::uint8_t { data = 0, ready = 1, done = 2 };

using queue::Address;

struct Packet {
    Kind kind = Kind::data;
    std::uint16_t rank = 0;  // who sends it
    std::uint32_t message = 0;
    std::uint64_t start = 0, stop = 0, total = 0;
    const std::byte* payload = nullptr;  // of DATA
};

// False where it is no frame of this protocol, or its lengths do not fit together.
[[nodiscard]] bool parse(Bytes frame, Packet& packet);
// Writes a frame, with the payload; its length.
std::size_t build(std::byte* frame, const Address& from, const Address& to, std::uint8_t dscp, const Packet& packet);

}  // namespace offramp::hermod
