// SPDX-License-Identifier: Apache-2.0
#include "datagram_link.hpp"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/udp.h>

namespace offramp {

DatagramLink::DatagramLink(int descriptor, std::size_t longest_run)
    : descriptor_(descriptor), longest_run_(longest_run) {}

Link::Outcome DatagramLink::failed() {
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS) return Outcome::busy;
    fault = errno;
    return Outcome::gone;
}

Link::Outcome DatagramLink::send(Bytes& frames, std::size_t length) {
    const std::size_t run = length <= longest_run_ ? std::clamp<std::size_t>(longest_bytes / length, 1, most_segments) : 1;
    while (!frames.empty()) {
        std::size_t count = 0;
        for (Bytes left = frames; count < messages && !left.empty(); ++count) {
            const std::size_t bytes = std::min(run * length, left.size());
            pieces_[count] = {const_cast<std::byte*>(left.data()), bytes};
            msghdr& header = headers_[count].msg_hdr = {};
            header.msg_iov = &pieces_[count];
            header.msg_iovlen = 1;
            left = left.subspan(bytes);
            if (bytes == length) continue;
            header.msg_control = &controls_[count];
            header.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
            cmsghdr* control = CMSG_FIRSTHDR(&header);
            *control = {CMSG_LEN(sizeof(std::uint16_t)), SOL_UDP, UDP_SEGMENT};
            store(reinterpret_cast<std::byte*>(CMSG_DATA(control)), static_cast<std::uint16_t>(length));
        }
        const int taken = ::sendmmsg(descriptor_, headers_.data(), static_cast<unsigned>(count), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0) return failed();
        std::size_t bytes = 0;
        for (int i = 0; i < taken; ++i) bytes += pieces_[static_cast<std::size_t>(i)].iov_len;
        sent += bytes / length;
        frames = frames.subspan(bytes);
    }
    return Outcome::done;
}

Link::Outcome DatagramLink::receive(const Link::Take& take) {
    for (std::size_t i = 0; i < messages; ++i) {
        pieces_[i] = {arrived_.get() + i * room, room};
        headers_[i].msg_hdr = {};
        headers_[i].msg_hdr.msg_iov = &pieces_[i];
        headers_[i].msg_hdr.msg_iovlen = 1;
        headers_[i].msg_hdr.msg_control = &controls_[i];
        headers_[i].msg_hdr.msg_controllen = sizeof controls_[i];
    }
    const int count = ::recvmmsg(descriptor_, headers_.data(), messages, MSG_DONTWAIT, nullptr);
    if (count < 0) return failed();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const std::size_t bytes = headers_[i].msg_len;
        const cmsghdr* control = CMSG_FIRSTHDR(&headers_[i].msg_hdr);
        const bool joined = control != nullptr && control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO;
        const int segment = joined ? load<int>(reinterpret_cast<const std::byte*>(CMSG_DATA(control))) : 0;
        split({arrived_.get() + i * room, bytes}, segment > 0 ? static_cast<std::size_t>(segment) : bytes, take);
    }
    return Outcome::done;
}

// The frames of one message: all of `segment` bytes, except perhaps the last.
void DatagramLink::split(Bytes data, std::size_t segment, const Link::Take& take) {
    while (!data.empty()) {
        const Bytes frame = data.first(std::min(segment, data.size()));
        take(frame);
        ++received;
        data = data.subspan(frame.size());
    }
}

bool DatagramLink::wait(bool writing, std::int64_t ns) {
    return wait_for(descriptor_, false, writing ? std::min(ns, busy) : ns);
}

}  // namespace offramp
