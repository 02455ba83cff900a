// SPDX-License-Identifier: Apache-2.0
// A worker's link over a Unix socket (offramp_base.transport.framing): many frames in one message, made and taken apart in
// the buffers that the kernel copies.
//
// A message is a 32-bit count, that many 16-bit lengths, then the frames without gaps; numbers are big-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bytes.hpp"
#include "formats/framing.hpp"

namespace offramp {

class Link {
  public:
    // What became of a call that does not wait.
    enum class Outcome { done, busy, gone };

    // The descriptor of a connected socket, which stays the caller's.
    explicit Link(int descriptor);

    // Room for the next frame, of at most `longest` bytes; nothing where the message is full.
    [[nodiscard]] std::byte* room();
    // The frame in the room has so many bytes.
    void add(std::size_t length);
    [[nodiscard]] bool holds() const { return frames_ != 0; }
    // Sends what was added; all of it or, where the link is busy, nothing yet.
    Outcome send();

    // The frames of the next message, each given to `take`.
    template <typename Take>
    Outcome receive(const Take& take) {
        const Outcome outcome = next_message();
        if (outcome != Outcome::done) return outcome;
        const std::byte *lengths = taken_.get() + 4, *frame = lengths + 2 * count_;
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t length = load_be16(lengths + 2 * i);
            take(Bytes{frame, length});
            frame += length;
        }
        return outcome;
    }

    // Waits until the link can be read, or, if `writing`, written, for so many nanoseconds at most; false if a signal came.
    bool wait(bool writing, std::int64_t ns) const;

    std::uint64_t received = 0, sent = 0, malformed = 0;  // frames; messages that were none

    static constexpr std::size_t longest = 1024;

  private:
    static constexpr std::size_t message_bytes = framing::message_bytes, most_message = framing::most_message;
    static constexpr std::size_t most_frames = message_bytes / 50;

    Outcome next_message();
    [[nodiscard]] bool adds_up(std::size_t size);

    int descriptor_;
    std::array<std::byte, 4 + 2 * most_frames> head_;
    std::unique_ptr<std::byte[]> made_{new std::byte[message_bytes + longest]}, taken_{new std::byte[most_message]};
    std::size_t frames_ = 0, bytes_ = 0, count_ = 0;
};

}  // namespace offramp
