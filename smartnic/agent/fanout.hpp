// SPDX-License-Identifier: Apache-2.0
// The fan-out group of a port on AF_PACKET.
#pragma once

#include <string>

namespace offramp {

// While it lives, a port that this thread opens by DPDK's net_af_packet gets a fan-out group of its own.
//
// That driver puts the sockets of an interface into the group `getpid() ^ index of the interface`, modulo 65,536, and
// gives up where a socket on another interface has it. Two agents in a network namespace, such as a running one and its
// successor, meet in a group whenever their process ids differ as two of their interfaces' indices do.
class FanoutGroup {
  public:
    explicit FanoutGroup(const std::string& interface);
    ~FanoutGroup();
    FanoutGroup(const FanoutGroup&) = delete;
    FanoutGroup& operator=(const FanoutGroup&) = delete;
};

}  // namespace offramp
