// SPDX-License-Identifier: Apache-2.0
#include "hermod/wire.hpp"

namespace offramp::hermod {
namespace {

std::uint64_t load_be64(const std::byte* at) {
    return __builtin_bswap64(load<std::uint64_t>(at));
}
void store_be64(std::byte* at, std::uint64_t value) {
    store(at, __builtin_bswap64(value));
}

}  // namespace

bool parse(Bytes frame, Packet& packet) {
    if (frame.size() < header_bytes) return false;
    const std::byte* ip = frame.data() + 14;
    if (load_be16(frame.data() + 12) != 0x0800 || ip[0] != std::byte{0x45} || (load_be16(ip + 6) & 0x3FFF) != 0 ||
        ip[9] != std::byte{17} || load_be16(ip + 22) != udp_port)
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
    std::memcpy(frame, to.mac.data(), 6);
    std::memcpy(frame + 6, from.mac.data(), 6);
    store_be16(frame + 12, 0x0800);
    std::byte* ip = frame + 14;
    store_be32(ip, 0x45000000u | std::uint32_t{dscp} << 18 | static_cast<std::uint32_t>(length - 14));
    store_be32(ip + 4, 0x4000);  // not to be cut
    store_be32(ip + 8, 64u << 24 | 17u << 16);
    store_be32(ip + 12, from.ip);
    store_be32(ip + 16, to.ip);
    std::uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2) sum += load_be16(ip + i);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    store_be16(ip + 10, static_cast<std::uint16_t>(~sum));
    store_be16(ip + 20, udp_port);
    store_be16(ip + 22, udp_port);
    store_be16(ip + 24, static_cast<std::uint16_t>(length - 34));
    store_be16(ip + 26, 0);
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
