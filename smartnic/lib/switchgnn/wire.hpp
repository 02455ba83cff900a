// SPDX-License-Identifier: Apache-2.0
// The SwitchGNN packet (offramp.switchgnn.wire): Ethernet, IPv4, a 16-byte header, segments of 32 lanes of int32.
#pragma once

#include <array>
#include <cstdint>

#include "formats/switchgnn.hpp"
#include "ipv4.hpp"

namespace offramp::switchgnn {

struct Packet {
    Kind kind = Kind::data;
    bool again = false;  // a FETCH that is repeated
    bool ecn = false;
    std::uint8_t chunk = 0;
    std::uint8_t segments = 1;  // of the payload
    std::uint16_t block = 0, count = 0, round = 0;
    std::uint32_t src = no_id, dst = no_id;
    const std::byte* payload = nullptr;  // lanes as they are on the wire; of DATA and RESEND only
};

// Bytes of a frame with a payload of that many segments.
[[nodiscard]] constexpr std::size_t frame_bytes(std::size_t segments) { return short_bytes + 4 * lanes * segments; }

enum class Parsed { packet, foreign, truncated };

// Recognises a whole packet; `foreign` is another protocol, or flags that mean nothing.
[[nodiscard]] inline Parsed parse(Bytes frame, Packet& packet) {
    if (frame.size() < prefix_bytes || !is_ipv4(frame.data(), ip_protocol)) return Parsed::foreign;
    if (frame.size() < short_bytes) return Parsed::truncated;
    const std::byte* at = frame.data() + prefix_bytes;
    unsigned kind = unsigned{header::is_ack(at)} << 2 | unsigned{header::is_fetch(at)} << 1 | header::resend(at);
    packet.again = kind == 3;
    if (packet.again) kind = 2;
    if (kind == 5 || kind == 7) return Parsed::foreign;
    packet.kind = static_cast<Kind>(kind);
    packet.payload = nullptr;
    if (packet.kind == Kind::data || packet.kind == Kind::resend) {
        packet.segments = static_cast<std::uint8_t>(1 + header::more(at));
        if (frame.size() < frame_bytes(packet.segments)) return Parsed::truncated;
        packet.payload = at + header::size;
    }
    packet.src = header::src_id(at);
    packet.dst = header::dst_id(at);
    packet.block = header::block_id(at);
    packet.count = header::count(at);
    packet.ecn = header::ecn(at) != 0;
    packet.chunk = header::chunk_id(at);
    packet.round = header::round(at);
    return Parsed::packet;
}

// Writes SwitchGNN's own header.
inline void write_header(std::byte* at, const Packet& packet) {
    const auto kind = static_cast<unsigned>(packet.kind);
    std::memset(at, 0, header::size);
    header::src_id.set(at, packet.src);
    header::dst_id.set(at, packet.dst);
    header::block_id.set(at, packet.block);
    header::count.set(at, packet.count);
    header::is_ack.set(at, kind >> 2);
    header::is_fetch.set(at, kind >> 1);
    header::resend.set(at, kind | packet.again);
    header::ecn.set(at, packet.ecn);
    header::more.set(at, packet.segments - 1u);
    header::chunk_id.set(at, packet.chunk);
    header::round.set(at, packet.round);
}

// The features of a segment, to the wire and from it. In one pass each, which compilers turn into SIMD.
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
        const std::size_t segments = full ? packet.segments : 0;
        std::memcpy(frame, prefixes_[segments].data(), prefix_bytes);
        write_header(frame + prefix_bytes, packet);
        return frame_bytes(segments);
    }

  private:
    using Prefix = std::array<std::byte, prefix_bytes>;
    static Prefix prefix(std::uint32_t worker, std::size_t length);

    std::array<Prefix, most_segments + 1> prefixes_;  // by segments
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
