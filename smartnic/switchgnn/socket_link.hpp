// SPDX-License-Identifier: Apache-2.0
// A worker's link over a Unix socket (offramp_base.transport.framing), in the buffers that the kernel copies.
//
// A message is a 32-bit count, that many 16-bit lengths, then the frames without gaps; numbers are big-endian.
#pragma once

#include <array>
#include <memory>

#include "formats/framing.hpp"
#include "link.hpp"

namespace offramp {

class SocketLink final : public Link {
  public:
    // The descriptor of a connected socket, which stays the caller's.
    explicit SocketLink(int descriptor) : descriptor_(descriptor) {}

    [[nodiscard]] std::byte* room() override;
    void add(std::size_t length) override;
    [[nodiscard]] bool holds() const override { return frames_ != 0; }
    [[nodiscard]] bool full() const override { return holds(); }
    Outcome send() override;
    // Sends frames of one length that lie side by side, from where they lie, while no message is begun: takes away those that
    // were sent.
    Outcome send(Bytes& frames, std::size_t length);
    Outcome receive(const Take& take) override;
    bool wait(bool writing, std::int64_t ns) override { return wait_for(descriptor_, writing, ns); }

  private:
    static constexpr std::size_t message_bytes = framing::message_bytes, most_message = framing::most_message;
    static constexpr std::size_t most_frames = message_bytes / 50;

    Outcome send_message(const std::byte* frames);
    Outcome next_message();
    [[nodiscard]] bool adds_up(std::size_t size);

    int descriptor_;
    std::array<std::byte, 4 + 2 * most_frames> head_;
    std::unique_ptr<std::byte[]> message_{new std::byte[message_bytes + longest]}, taken_{new std::byte[most_message]};
    std::size_t frames_ = 0, bytes_ = 0, count_ = 0;
};

}  // namespace offramp
