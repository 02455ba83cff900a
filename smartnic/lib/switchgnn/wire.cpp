#include "switchgnn/wire.hpp"

namespace offramp::switchgnn {
namespace {

constexpr std::uint16_t ether_type_ipv4 = 0x0800;
constexpr std::uint8_t ip_protocol = 253;
constexpr std::uint64_t switch_mac = 0x02000000FFFE, first_mac = 0x020000000001;
constexpr std::uint32_t switch_ip = 0x0A00FFFE, first_ip = 0x0A000001;
constexpr unsigned is_ack = 0x80, is_fetch = 0x40, is_ecn = 0x20, is_resend = 0x10;

constexpr unsigned flags_of(const Packet& packet) {
    const auto kind = static_cast<unsigned>(packet.kind);
    unsigned flags = (kind & 4 ? is_ack : 0) | (kind & 2 ? is_fetch : 0) | (kind & 1 ? is_resend : 0);
    if (packet.again) flags |= is_resend;
    return flags | (packet.ecn ? is_ecn : 0);
}

// The header checksum of RFC 791.
std::uint16_t checksum(const std::byte* header) {
    std::uint32_t total = 0;
    for (int i = 0; i < 20; i += 2) total += load_be16(header + i);
    while (total >> 16) total = (total & 0xFFFF) + (total >> 16);
    return static_cast<std::uint16_t>(~total);
}

}  // namespace

Parsed parse(Bytes frame, Packet& packet) {
    if (frame.size() < prefix_bytes) return Parsed::foreign;
    const std::byte* ip = frame.data() + 14;
    if (load_be16(frame.data() + 12) != ether_type_ipv4 || ip[0] != std::byte{0x45} ||
        (load_be16(ip + 6) & 0x1FFF) != 0 || ip[9] != std::byte{ip_protocol})
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

std::size_t build(std::byte* frame, std::uint32_t worker, const Packet& packet) {
    const bool full = packet.kind == Kind::data || packet.kind == Kind::resend;
    const std::size_t length = full ? data_bytes : short_bytes;
    store_be48(frame, switch_mac);
    store_be48(frame + 6, first_mac + worker);
    store_be16(frame + 12, ether_type_ipv4);
    std::byte* ip = frame + 14;
    store_be32(ip, 0x45000000u | static_cast<std::uint32_t>(length - 14));
    store_be32(ip + 4, 0);
    store_be32(ip + 8, 64u << 24 | std::uint32_t{ip_protocol} << 16);
    store_be32(ip + 12, first_ip + worker);
    store_be32(ip + 16, switch_ip);
    store_be16(ip + 10, checksum(ip));
    std::byte* at = frame + prefix_bytes;
    store_be32(at, packet.src);
    store_be32(at + 4, packet.dst);
    store_be16(at + 8, packet.block);
    store_be16(at + 10, packet.count);
    at[12] = static_cast<std::byte>(flags_of(packet));
    at[13] = std::byte{packet.chunk};
    store_be16(at + 14, packet.round);
    return length;
}

}  // namespace offramp::switchgnn
