// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>

#include "formats/allreduce.hpp"
#include "formats/ethernet.hpp"
#include "formats/switchgnn.hpp"
#include "hermod/wire.hpp"

namespace offramp::rules {
namespace {

constexpr std::uint8_t udp = 17;
constexpr std::size_t ip_at = ethernet::size, udp_at = ip_at + ipv4::size, udp_header = 8;

// The sum of 16-bit words (RFC 1071), an odd byte padded by zero.
std::uint32_t sum_of(Bytes bytes, std::uint32_t sum) {
    std::size_t at = 0;
    for (; at + 1 < bytes.size(); at += 2) sum += load_be16(bytes.data() + at);
    if (at < bytes.size()) sum += std::to_integer<std::uint32_t>(bytes[at]) << 8;
    return sum;
}

bool is_right(std::uint32_t sum) {
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    return sum == 0xFFFF;
}

}  // namespace

std::uint8_t ip_protocol(Protocol protocol) {
    return protocol == Protocol::hermod      ? udp
           : protocol == Protocol::allreduce ? static_cast<std::uint8_t>(allreduce::ip_protocol)
                                             : static_cast<std::uint8_t>(switchgnn::ip_protocol);
}

bool read(Bytes frame, Destination& destination) {
    if (frame.size() < udp_at) return false;
    const std::byte* ip = frame.data() + ip_at;
    if (ethernet::ether_type(frame.data()) != ether_type_ipv4 || ipv4::version(ip) != 4 ||
        ipv4::ihl(ip) != ipv4::size / 4 || ipv4::frag_offset(ip) != 0 || (ipv4::flags(ip) & 1) != 0)
        return false;
    destination.mac = ethernet::dst_addr(frame.data());
    destination.ip = static_cast<std::uint32_t>(ipv4::dst_addr(ip));
    switch (ipv4::protocol(ip)) {
        case switchgnn::ip_protocol:
            destination.protocol = Protocol::switchgnn;
            return true;
        case allreduce::ip_protocol:
            destination.protocol = Protocol::allreduce;
            return true;
        case udp:
            destination.protocol = Protocol::hermod;
            return frame.size() >= udp_at + udp_header && load_be16(frame.data() + udp_at + 2) == hermod::udp_port;
        default:
            return false;
    }
}

bool intact(Bytes frame) {
    const std::byte* ip = frame.data() + ip_at;
    if (!is_right(sum_of({ip, ipv4::size}, 0))) return false;
    if (ipv4::protocol(ip) != udp || load_be16(frame.data() + udp_at + 6) == 0) return true;
    const std::size_t length = load_be16(frame.data() + udp_at + 4);
    if (length < udp_header || length > frame.size() - udp_at) return false;
    const std::uint32_t pseudo = sum_of({ip + 12, 8}, static_cast<std::uint32_t>(udp + length));
    return is_right(sum_of({frame.data() + udp_at, length}, pseudo));
}

bool Rules::add(const Destination& destination, unsigned target) {
    const bool there = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
        return rule.destination == destination && rule.target != target;
    });
    if (there || target >= most_targets) return false;
    rules_.push_back({destination, target});
    return true;
}

void Rules::remove(unsigned target) {
    std::erase_if(rules_, [&](const Rule& rule) { return rule.target == target; });
}

Targets Rules::match(const Destination& destination) const {
    Targets targets = 0;
    const bool all = destination.mac == broadcast_mac && destination.ip == broadcast_ip;
    for (const Rule& rule : rules_) {
        const bool hit = all ? has_broadcasts(destination.protocol) && rule.destination.protocol == destination.protocol
                             : rule.destination == destination;
        if (hit) targets |= Targets{1} << rule.target;
    }
    return targets;
}

}  // namespace offramp::rules
