// SPDX-License-Identifier: Apache-2.0
#include "fanout.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

namespace offramp {
namespace {

thread_local std::optional<pid_t> instead;

// A group that no socket of this namespace has, as the kernel says; none where it says nothing.
std::optional<unsigned> free_group(unsigned index) {
    const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (socket < 0) return std::nullopt;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(index);
    int group = (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    socklen_t size = sizeof group;
    const bool known = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                       ::setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, size) == 0 &&
                       ::getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, &size) == 0;
    ::close(socket);
    if (!known) return std::nullopt;
    return static_cast<unsigned>(group) & 0xffff;
}

}  // namespace

FanoutGroup::FanoutGroup(const std::string& interface) {
    const unsigned index = ::if_nametoindex(interface.c_str());
    if (index == 0) return;  // the driver says so
    if (const auto group = free_group(index)) instead = static_cast<pid_t>((*group ^ index) & 0xffff);
}

FanoutGroup::~FanoutGroup() {
    instead.reset();
}

}  // namespace offramp

// The driver has no option for its group, but asks this for the process: libraries bind to the program's function first.
extern "C" pid_t getpid() noexcept {
    return offramp::instead ? *offramp::instead : static_cast<pid_t>(::syscall(SYS_getpid));
}
