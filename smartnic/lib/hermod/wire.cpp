// SPDX-License-Identifier: Apache-2.0
#include "hermod/wire.hpp"

#include "ipv4.hpp"

namespace offramp::hermod {
namespace {

constexpr std::uint8_t protocol_udp = 17;

std::uint64_t mac(const Address& of) {
    return std::uint64_t{load_be16(of.mac.data())} << 32 | load_be32(of.mac.data() + 2);
}
std::uint64_t load_be64(const std::byte* at) {
    return __builtin_bswap64(load<std::uint64_t>(at));
}
void store_be64(std::byte* at, std::uint64_t value) {
    store(at, __builtin_bswap64(value));
}

}  // namespace

bool parse(Bytes frame, Packet& packet) {
    if (frame.size() < header_bytes) return false;
    const std::byte* ip = frame.data() + ethernet::size;
    const bool fragment = ipv4::frag_offset(ip) != 0 || (ipv4::flags(ip) & 1) != 0;
    if (ethernet::ether_type(frame.data()) != ether_type_ipv4 || ipv4::version(ip) != 4 || ipv4::ihl(ip) != 5 || fragment ||
        ipv4::protocol(ip) != protocol_udp || load_be16(ip + ipv4::size + 2) != udp_port)
        return false;
    const std::byte* at = frame.data() + prefix_bytes;
    const auto kind = std::to_integer<std::uint8_t>(at[0]);
    if (kind > 2) return false;
    packet.kind = static_cast<Kind>(kind);
    packet.rank = load_be16(at + 2);
    packet.message = load_be32(at + 4);
    packet.start = load_be64(at + 8);
    packet.stop = load_be64(at + 16);
    packet.total = load_be64(at + 24);
    packet.payload = nullptr;
    if (packet.start > packet.stop || packet.stop > packet.total) return false;
    if (packet.kind != Kind::data) return true;
    packet.payload = at + 32;
    return packet.stop - packet.start <= cell && frame.size() - header_bytes >= packet.stop - packet.start;
}

std::size_t build(std::byte* frame, const Address& from, const Address& to, std::uint8_t dscp, const Packet& packet) {
    const std::size_t length =
        header_bytes + (packet.kind == Kind::data ? static_cast<std::size_t>(packet.stop - packet.start) : 0);
    constexpr bool whole = true;
    std::byte* udp = write_prefix(frame, {mac(from), mac(to), from.ip, to.ip}, length, protocol_udp, dscp, whole);
    store_be16(udp, udp_port);
    store_be16(udp + 2, udp_port);
    store_be16(udp + 4, static_cast<std::uint16_t>(length - (prefix_bytes - 8)));
    store_be16(udp + 6, 0);
    std::byte* at = frame + prefix_bytes;
    store_be32(at, static_cast<std::uint32_t>(packet.kind) << 24 | packet.rank);
    store_be32(at + 4, packet.message);
    store_be64(at + 8, packet.start);
    store_be64(at + 16, packet.stop);
    store_be64(at + 24, packet.total);
    if (length > header_bytes) std::memcpy(at + 32, packet.payload, length - header_bytes);
    return length;
}

}  // namespace offramp::hermod
