// SPDX-License-Identifier: Apache-2.0
// A worker's link: messages of many frames, made and taken apart in the memory that carries them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backoff.hpp"
#include "bytes.hpp"

namespace offramp {

class Link {
  public:
    // Outcome of a call that does not wait. `lie`: the other side wrote something impossible.
    enum class Outcome { done, busy, gone, lie };
    using Take = std::function<void(Bytes)>;

    Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    // Room for the next frame, of at most `longest` bytes; nothing if the message or the link is full.
    [[nodiscard]] virtual std::byte* room() = 0;
    // Sets the length of the frame in the room.
    virtual void add(std::size_t length) = 0;
    // Whether a message is begun.
    [[nodiscard]] virtual bool holds() const = 0;
    // Whether nothing can be sent now, and `wait` for writing tells when it can.
    [[nodiscard]] virtual bool full() const = 0;
    // Sends what was added; all of it or, where the link is busy, nothing yet.
    virtual Outcome send() = 0;
    // The frames of the next message, each given to `take`.
    virtual Outcome receive(const Take& take) = 0;
    // Waits until the link can be read, or, if `writing`, written, for at most that many nanoseconds; false if a signal came.
    virtual bool wait(bool writing, std::int64_t ns) = 0;

    std::uint64_t received = 0, sent = 0, malformed = 0;  // frames; messages that were none

    static constexpr std::size_t longest = 1024;
};

// Waits for a descriptor: false if a signal came.
bool wait_for(int descriptor, bool writing, std::int64_t ns);

// Nanoseconds of Python's time.monotonic.
Time clock_now();

inline constexpr Time stall = 60'000'000'000;  // a switch that takes no frame for this long is given up

}  // namespace offramp
