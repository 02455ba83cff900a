// SPDX-License-Identifier: Apache-2.0
// Ethernet and IPv4 (offramp_base.wire.ethernet). Written by ci/formats: change it there.
#pragma once

#include <cstdint>

#include "field.hpp"

namespace offramp {

namespace ethernet {
inline constexpr std::size_t size = 14;
inline constexpr Field<48, 0> dst_addr;
inline constexpr Field<48, 6> src_addr;
inline constexpr Field<16, 12> ether_type;
}  // namespace ethernet

namespace ipv4 {
inline constexpr std::size_t size = 20;
inline constexpr Field<4, 0, 4> version;
inline constexpr Field<4, 0> ihl;
inline constexpr Field<8, 1> diffserv;
inline constexpr Field<16, 2> total_len;
inline constexpr Field<16, 4> identification;
inline constexpr Field<3, 6, 5> flags;
inline constexpr Field<13, 6> frag_offset;
inline constexpr Field<8, 8> ttl;
inline constexpr Field<8, 9> protocol;
inline constexpr Field<16, 10> header_checksum;
inline constexpr Field<32, 12> src_addr;
inline constexpr Field<32, 16> dst_addr;
}  // namespace ipv4

inline constexpr std::uint32_t ether_type_ipv4 = 2048;

}  // namespace offramp
