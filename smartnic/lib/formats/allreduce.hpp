// SPDX-License-Identifier: Apache-2.0
// The all-reduce packet: Ethernet, IPv4, a 20-byte header, segments of 64 lanes (offramp.allreduce.wire). Written by
// ci/formats: change it there.
#pragma once

#include <cstdint>

#include "field.hpp"

namespace offramp::allreduce {

namespace header {
inline constexpr std::size_t size = 20;
inline constexpr Field<32, 0> job;
inline constexpr Field<32, 4> chunk;
inline constexpr Field<32, 8> present;
inline constexpr Field<8, 12> page;
inline constexpr Field<8, 13> line;
inline constexpr Field<16, 14> exponent;
inline constexpr Field<8, 16> rank;
inline constexpr Field<8, 17> kind;
inline constexpr Field<8, 18> flags;
inline constexpr Field<8, 19> reserved;
}  // namespace header

enum class Kind : std::uint8_t {
    data = 0,
    again = 1,
    result = 2,
    pull = 3,
};

// Types of elements.
enum class Type : std::uint8_t {
    float32 = 1,
    float64 = 2,
    float16 = 3,
    bfloat16 = 4,
    int8 = 5,
    int16 = 6,
    int32 = 7,
    int64 = 8,
    uint8 = 9,
    uint16 = 10,
    uint32 = 11,
};

// A segment's lanes, and a page's slots.
inline constexpr std::uint64_t lanes = 64;
inline constexpr std::uint64_t page = 256;
inline constexpr std::uint64_t prefix_bytes = 34;
inline constexpr std::uint64_t header_bytes = 54;

inline constexpr std::uint32_t ip_protocol = 254;
inline constexpr std::uint32_t most_ranks = 32;
inline constexpr std::uint32_t switch_ip = 0xA00FFFE;
inline constexpr std::uint32_t first_ip = 0xA000001;
inline constexpr std::uint32_t exponent_bias = 16384;

inline constexpr std::uint64_t switch_mac = 0x2000000FFFE;
inline constexpr std::uint64_t first_mac = 0x20000000001;

}  // namespace offramp::allreduce
