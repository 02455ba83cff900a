// SPDX-License-Identifier: Apache-2.0
// A rank's link over a connected UDP socket (offramp_base.transport.datagrams): a datagram for each frame. Runs of one length
// leave and arrive in one piece, which the kernel cuts (UDP_SEGMENT, UDP_GRO; udp(7)).
#pragma once

#include <array>
#include <memory>
#include <sys/socket.h>
#include <sys/uio.h>

#include "link.hpp"

namespace offramp {

class DatagramLink {
  public:
    using Outcome = Link::Outcome;

    // The descriptor of a connected socket, which stays the caller's; frames of up to `longest_run` bytes may be joined.
    DatagramLink(int descriptor, std::size_t longest_run);

    // Sends frames of one length that lie side by side: takes away those that the kernel took.
    Outcome send(Bytes& frames, std::size_t length);
    // Frames that have arrived, each given to `take`.
    Outcome receive(const Link::Take& take);
    // Waits until the link can be read; not for long if it could not be written, since nothing tells when it can.
    bool wait(bool writing, std::int64_t ns);

    std::uint64_t received = 0, sent = 0, malformed = 0;  // frames; datagrams that were none
    int fault = 0;  // why it is gone, as errno

  private:
    static constexpr std::size_t most_segments = 64, longest_bytes = 65'000;
    static constexpr std::size_t messages = 16, room = 1 << 16;
    static constexpr std::int64_t busy = 500'000;  // nanoseconds

    Outcome failed();
    void split(Bytes data, std::size_t segment, const Link::Take& take);

    // Room for a control message that says how long the segments are.
    union Control {
        cmsghdr head;
        std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
    };

    int descriptor_;
    std::size_t longest_run_;
    std::unique_ptr<std::byte[]> arrived_{new std::byte[messages * room]};
    std::array<Control, messages> controls_;
    std::array<iovec, messages> pieces_;
    std::array<mmsghdr, messages> headers_;
};

}  // namespace offramp
