// SPDX-License-Identifier: Apache-2.0
// Assigns a port's frames to owners. A frame that matches no rule is for nobody. Without DPDK: ports whose drivers have no
// flow rules are filtered by this, and the others once more.
#pragma once

#include <cstdint>
#include <vector>

#include "bytes.hpp"

namespace offramp::rules {

inline constexpr std::uint64_t broadcast_mac = 0xFFFF'FFFF'FFFF;
inline constexpr std::uint32_t broadcast_ip = 0xFFFF'FFFF;

// SwitchGNN's results and the all-reduce's have IP protocols of their own, and a switch sends them to everybody; Hermod's
// frames are UDP datagrams to one host.
enum class Protocol : std::uint8_t { switchgnn, hermod, allreduce };

// The destination of a frame by its headers.
struct Destination {
    Protocol protocol;
    std::uint64_t mac;
    std::uint32_t ip;

    bool operator==(const Destination&) const = default;
};

// The number of a protocol in the IPv4 header.
[[nodiscard]] std::uint8_t ip_protocol(Protocol protocol);
// Whether a switch sends frames of it to all hosts of a link.
[[nodiscard]] constexpr bool has_broadcasts(Protocol protocol) { return protocol != Protocol::hermod; }

// False for frames that are too short, other protocols, IPv4 options and fragments.
[[nodiscard]] bool read(Bytes frame, Destination& destination);

// The checksum of an IPv4 header at offset 14 is right, and that of UDP where there is one. Of frames that were read.
[[nodiscard]] bool intact(Bytes frame);

using Targets = std::uint64_t;  // a bit for each
inline constexpr unsigned most_targets = 64;

class Rules {
  public:
    // False where another target has the same destination.
    [[nodiscard]] bool add(const Destination& destination, unsigned target);
    void remove(unsigned target);
    [[nodiscard]] Targets match(const Destination& destination) const;

  private:
    struct Rule {
        Destination destination;
        unsigned target;
    };
    std::vector<Rule> rules_;
};

}  // namespace offramp::rules
