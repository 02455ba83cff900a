// SPDX-License-Identifier: Apache-2.0
// The SwitchGNN packet (offramp.switchgnn.wire): Ethernet, IPv4, a 16-byte header, 32 lanes of int32.
#pragma once

#include <array>
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

inline constexpr unsigned is_ack = 0x80, is_fetch = 0x40, is_ecn = 0x20, is_resend = 0x10;

// Recognises a whole packet; `foreign` is another protocol, or flags that mean nothing.
[[nodiscard]] inline Parsed parse(Bytes frame, Packet& packet) {
    constexpr std::uint16_t ether_type_ipv4 = 0x0800, fragment_offset = 0x1FFF;
    constexpr std::byte ip_version_and_length{0x45}, ip_protocol{253};
    if (frame.size() < prefix_bytes) return Parsed::foreign;
    const std::byte* ip = frame.data() + 14;
    if (load_be16(frame.data() + 12) != ether_type_ipv4 || ip[0] != ip_version_and_length ||
        (load_be16(ip + 6) & fragment_offset) != 0 || ip[9] != ip_protocol)
        return Parsed::foreign;
    if (frame.size() < short_bytes) return Parsed::truncated;
    const std::byte* at = frame.data() + prefix_bytes;
    const auto flags = std::to_integer<unsigned>(at[12]);
    unsigned kind = (flags & is_ack ? 4u : 0u) | (flags & is_fetch ? 2u : 0u) | (flags & is_resend ? 1u : 0u);
    packet.again = kind == 3;
    if (packet.again) kind = 2;
    if (kind == 5 || kind == 7) return Parsed::foreign;
    packet.kind = static_cast<Kind>(kind);
    packet.payload = nullptr;
    if (packet.kind == Kind::data || packet.kind == Kind::resend) {
        if (frame.size() < data_bytes) return Parsed::truncated;
        packet.payload = at + 16;
    }
    packet.src = load_be32(at);
    packet.dst = load_be32(at + 4);
    packet.block = load_be16(at + 8);
    packet.count = load_be16(at + 10);
    packet.ecn = flags & is_ecn;
    packet.chunk = std::to_integer<std::uint8_t>(at[13]);
    packet.round = load_be16(at + 14);
    return Parsed::packet;
}

// Writes SwitchGNN's own header.
inline void write_header(std::byte* at, const Packet& packet) {
    const auto kind = static_cast<unsigned>(packet.kind);
    const unsigned flags = (kind & 4 ? is_ack : 0) | (kind & 2 ? is_fetch : 0) |
                           ((kind & 1) || packet.again ? is_resend : 0) | (packet.ecn ? is_ecn : 0);
    store_be32(at, packet.src);
    store_be32(at + 4, packet.dst);
    store_be32(at + 8, std::uint32_t{packet.block} << 16 | packet.count);
    store_be32(at + 12, flags << 24 | std::uint32_t{packet.chunk} << 16 | packet.round);
}

// The features of one packet, to the wire and from it. In one pass each, which compilers turn into SIMD.
inline void to_network(const std::byte* from, std::byte* to) {
    std::array<std::uint32_t, lanes> words;
    std::memcpy(words.data(), from, sizeof words);
    for (auto& word : words) word = __builtin_bswap32(word);
    std::memcpy(to, words.data(), sizeof words);
}
inline void from_network(const std::byte* from, std::int64_t* to) {
    std::array<std::uint32_t, lanes> words;
    std::memcpy(words.data(), from, sizeof words);
    for (std::size_t i = 0; i < lanes; ++i) to[i] = static_cast<std::int32_t>(__builtin_bswap32(words[i]));
}

// Frames of one worker: what is the same in all of them is made once.
class Builder {
  public:
    explicit Builder(std::uint32_t worker);

    // Writes a frame; the payload, where the kind has one, is left to the caller. Returns its length.
    std::size_t build(std::byte* frame, const Packet& packet) const {
        const bool full = packet.kind == Kind::data || packet.kind == Kind::resend;
        std::memcpy(frame, (full ? full_ : short_).data(), prefix_bytes);
        write_header(frame + prefix_bytes, packet);
        return full ? data_bytes : short_bytes;
    }

  private:
    using Prefix = std::array<std::byte, prefix_bytes>;
    static Prefix prefix(std::uint32_t worker, std::size_t length);

    Prefix short_, full_;
};

// A frame of a worker that sends few.
inline std::size_t build(std::byte* frame, std::uint32_t worker, const Packet& packet) {
    return Builder(worker).build(frame, packet);
}

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
