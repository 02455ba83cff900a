// SPDX-License-Identifier: Apache-2.0
// The SwitchGNN packet: Ethernet, IPv4, a 16-byte header, segments of 32 lanes (offramp.switchgnn.wire). Written by
// ci/formats: change it there.
#pragma once

#include <cstdint>

#include "field.hpp"

namespace offramp::switchgnn {

namespace header {
inline constexpr std::size_t size = 16;
inline constexpr Field<32, 0> src_id;
inline constexpr Field<32, 4> dst_id;
inline constexpr Field<16, 8> block_id;
inline constexpr Field<16, 10> count;
inline constexpr Field<1, 12, 7> is_ack;
inline constexpr Field<1, 12, 6> is_fetch;
inline constexpr Field<1, 12, 5> ecn;
inline constexpr Field<1, 12, 4> resend;
inline constexpr Field<2, 12, 2> more;
inline constexpr Field<2, 12> level;
inline constexpr Field<8, 13> chunk_id;
inline constexpr Field<16, 14> round;
}  // namespace header

// A payload has one to four segments of 32 lanes.
inline constexpr std::uint64_t lanes = 32;
inline constexpr std::uint64_t most_segments = 4;

inline constexpr std::uint64_t prefix_bytes = 34;
inline constexpr std::uint64_t short_bytes = 50;
inline constexpr std::uint64_t data_bytes = 178;
inline constexpr std::uint64_t most_bytes = 562;

// By the flags is_ack, is_fetch, resend as three bits. DATA is also what results have.
enum class Kind : std::uint8_t {
    data = 0,
    resend = 1,
    fetch = 2,
    ack = 4,
    done = 6,
};

inline constexpr std::uint32_t ip_protocol = 253;
inline constexpr std::uint32_t no_id = 0xFFFFFFFF;
inline constexpr std::uint32_t plan_magic = 0x33504753;
inline constexpr std::uint32_t switch_ip = 0xA00FFFE;
inline constexpr std::uint32_t first_ip = 0xA000001;

inline constexpr std::uint64_t switch_mac = 0x2000000FFFE;
inline constexpr std::uint64_t first_mac = 0x20000000001;

}  // namespace offramp::switchgnn
