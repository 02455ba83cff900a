// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/wire.hpp"

namespace offramp::switchgnn {
namespace {

constexpr std::uint64_t switch_mac = 0x02000000FFFE, first_mac = 0x020000000001;
constexpr std::uint32_t switch_ip = 0x0A00FFFE, first_ip = 0x0A000001;

// The header checksum of RFC 791.
std::uint16_t checksum(const std::byte* header) {
    std::uint32_t total = 0;
    for (int i = 0; i < 20; i += 2) total += load_be16(header + i);
    while (total >> 16) total = (total & 0xFFFF) + (total >> 16);
    return static_cast<std::uint16_t>(~total);
}

}  // namespace

Builder::Builder(std::uint32_t worker) : short_(prefix(worker, short_bytes)), full_(prefix(worker, data_bytes)) {}

// Ethernet and IPv4 of a frame of so many bytes.
Builder::Prefix Builder::prefix(std::uint32_t worker, std::size_t length) {
    Prefix made;
    store_be48(made.data(), switch_mac);
    store_be48(made.data() + 6, first_mac + worker);
    store_be16(made.data() + 12, 0x0800);
    std::byte* ip = made.data() + 14;
    store_be32(ip, 0x45000000u | static_cast<std::uint32_t>(length - 14));
    store_be32(ip + 4, 0);
    store_be32(ip + 8, 64u << 24 | 253u << 16);
    store_be32(ip + 12, first_ip + worker);
    store_be32(ip + 16, switch_ip);
    store_be16(ip + 10, checksum(ip));
    return made;
}

}  // namespace offramp::switchgnn
