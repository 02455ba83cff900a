// SPDX-License-Identifier: Apache-2.0
#include "hearing.hpp"

#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace offramp {
namespace {

bool member(int socket, int what, const std::string& interface, const Hearing::Address& address) {
    packet_mreq asked{};
    asked.mr_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    asked.mr_type = PACKET_MR_UNICAST;
    asked.mr_alen = static_cast<unsigned short>(address.size());
    std::memcpy(asked.mr_address, address.data(), address.size());
    return ::setsockopt(socket, SOL_PACKET, what, &asked, sizeof asked) == 0;
}

// How many have made it promiscuous (IFLA_PROMISCUITY; flags do not say what the kernel did itself); 0: unknown.
std::uint32_t promiscuity(const std::string& interface) {
    const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    struct {
        nlmsghdr header;
        ifinfomsg link;
    } asked{};
    asked.header.nlmsg_len = sizeof asked;
    asked.header.nlmsg_type = RTM_GETLINK;
    asked.header.nlmsg_flags = NLM_F_REQUEST;
    asked.link.ifi_family = AF_UNSPEC;
    asked.link.ifi_index = static_cast<int>(::if_nametoindex(interface.c_str()));
    alignas(nlmsghdr) std::array<char, 16384> answer;
    if (::send(socket.get(), &asked, sizeof asked, 0) < 0) return 0;
    const ssize_t length = ::recv(socket.get(), answer.data(), answer.size(), 0);
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (length < 0 || !NLMSG_OK(header, static_cast<std::size_t>(length)) || header->nlmsg_type != RTM_NEWLINK) return 0;
    auto* each = IFLA_RTA(reinterpret_cast<ifinfomsg*>(NLMSG_DATA(answer.data())));
    auto left = static_cast<int>(IFLA_PAYLOAD(header));
    for (; RTA_OK(each, left); each = RTA_NEXT(each, left)) {
        std::uint32_t promiscuous = 0;
        if (each->rta_type != IFLA_PROMISCUITY) continue;
        std::memcpy(&promiscuous, RTA_DATA(each), sizeof promiscuous);
        return promiscuous;
    }
    return 0;
}

}  // namespace

bool Hearing::add(const std::string& interface, const Address& address, std::string& error) {
    if (socket_.get() < 0) socket_ = Descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    const std::uint32_t before = promiscuity(interface);
    if (!member(socket_.get(), PACKET_ADD_MEMBERSHIP, interface, address)) {
        error = std::string("the interface takes no further address: ") + std::strerror(errno);
        return false;
    }
    if (promiscuity(interface) == before) return true;
    member(socket_.get(), PACKET_DROP_MEMBERSHIP, interface, address);
    std::fprintf(stderr,
                 "interface %s has no filter of addresses: unless it hears everything, as veth does, its own must be "
                 "%02x:%02x:%02x:%02x:%02x:%02x\n",
                 interface.c_str(), address[0], address[1], address[2], address[3], address[4], address[5]);
    return true;
}

void Hearing::remove(const std::string& interface, const Address& address) {
    if (socket_.get() >= 0) member(socket_.get(), PACKET_DROP_MEMBERSHIP, interface, address);
}

}  // namespace offramp
