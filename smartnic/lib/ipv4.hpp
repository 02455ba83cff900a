// SPDX-License-Identifier: Apache-2.0
// Ethernet and IPv4 in front of what is ours.
#pragma once

#include "formats/ethernet.hpp"

namespace offramp {

struct Route {
    std::uint64_t from_mac, to_mac;
    std::uint32_t from_ip, to_ip;
};

// Writes both headers of a frame of `length` bytes, the checksum of RFC 791 included; where they end.
inline std::byte* write_prefix(std::byte* frame, const Route& route, std::size_t length, std::uint8_t protocol,
                               std::uint8_t dscp = 0, bool whole = false) {
    ethernet::dst_addr.set(frame, route.to_mac);
    ethernet::src_addr.set(frame, route.from_mac);
    ethernet::ether_type.set(frame, ether_type_ipv4);
    std::byte* ip = frame + ethernet::size;
    std::memset(ip, 0, ipv4::size);
    ipv4::version.set(ip, 4);
    ipv4::ihl.set(ip, ipv4::size / 4);
    ipv4::diffserv.set(ip, dscp << 2);
    ipv4::total_len.set(ip, length - ethernet::size);
    ipv4::flags.set(ip, whole ? 2 : 0);  // not to be cut
    ipv4::ttl.set(ip, 64);
    ipv4::protocol.set(ip, protocol);
    ipv4::src_addr.set(ip, route.from_ip);
    ipv4::dst_addr.set(ip, route.to_ip);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < ipv4::size; i += 2) sum += load_be16(ip + i);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    ipv4::header_checksum.set(ip, ~sum);
    return ip + ipv4::size;
}

// Whether a frame is unfragmented IPv4 without options, of one protocol; it must be long enough for both headers.
inline bool is_ipv4(const std::byte* frame, std::uint8_t protocol) {
    const std::byte* ip = frame + ethernet::size;
    return ethernet::ether_type(frame) == ether_type_ipv4 && ipv4::version(ip) == 4 && ipv4::ihl(ip) == 5 &&
           ipv4::frag_offset(ip) == 0 && ipv4::protocol(ip) == protocol;
}

}  // namespace offramp
