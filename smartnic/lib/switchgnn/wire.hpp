// The SwitchGNN packet (offramp.wire.switchgnn): Ethernet, IPv4, a 16-byte header, 32 lanes of int32.
#pragma once

#include <cstdint>

#include "bytes.hpp"

namespace offramp::switchgnn {

inline constexpr std::size_t lanes = 32, prefix_bytes = 34, short_bytes = prefix_bytes + 16,
                             data_bytes = short_bytes + 4 * lanes;
inline constexpr std::uint32_t no_id = 0xFFFFFFFF;

// By the flags is_ack, is_fetch, resend as three bits. DATA is also what results have.
enum class Kind : std::uint8_t { data = 0, resend = 1, fetch = 2, ack = 4, done = 6 };

struct Packet {
    Kind kind = Kind::data;
    bool again = false;  // a FETCH that is repeated
    bool ecn = false;
    std::uint8_t chunk = 0;
    std::uint16_t block = 0, count = 0, round = 0;
    std::uint32_t src = no_id, dst = no_id;
    const std::byte* payload = nullptr;  // lanes as they are on the wire; of DATA and RESEND only
};

enum class Parsed { packet, foreign, truncated };

// Recognises a whole packet; `foreign` is another protocol, or flags that mean nothing.
[[nodiscard]] Parsed parse(Bytes frame, Packet& packet);

// Writes the frame that `worker` sends; the payload, where the kind has one, is left to the caller. Returns its length.
std::size_t build(std::byte* frame, std::uint32_t worker, const Packet& packet);

// Whether round `a` comes after round `b`, as serial numbers modulo 2^16.
[[nodiscard]] constexpr bool is_newer(std::uint16_t a, std::uint16_t b) {
    const auto ahead = static_cast<std::uint16_t>(a - b);
    return ahead != 0 && ahead < 0x8000;
}

// Serial numbers skip 0, which only the start barrier has.
[[nodiscard]] constexpr std::uint16_t next_round(std::uint16_t round) {
    const auto next = static_cast<std::uint16_t>(round + 1);
    return next == 0 ? 1 : next;
}

// Bytes of link time of a frame given without FCS: with FCS, padding, preamble and gap.
[[nodiscard]] constexpr std::uint64_t wire_bytes(std::uint64_t frame) {
    return (frame + 4 < 64 ? 64 : frame + 4) + 20;
}

}  // namespace offramp::switchgnn
