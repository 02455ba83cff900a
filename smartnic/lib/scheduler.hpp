// SPDX-License-Identifier: Apache-2.0
// Strict priority among frames that wait for a port, and the code that network queues know them by (Hermod: a coflow's
// class is its DSCP). Class 0 leaves first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "bytes.hpp"

namespace offramp {

inline constexpr unsigned classes = 8;

template <typename Frame>
class StrictPriority {
  public:
    // Frames of each class that may wait.
    explicit StrictPriority(std::size_t most) : most_(most), mask_(std::bit_ceil(most) - 1) {
        for (auto& queue : queues_) queue.frames.resize(mask_ + 1);
    }

    // False where the class has as many frames waiting as it may.
    bool push(unsigned priority, Frame frame) {
        const unsigned number = priority % classes;
        auto& queue = queues_[number];
        if (queue.tail - queue.head >= most_) return false;
        queue.frames[queue.tail++ & mask_] = frame;
        occupied_ |= 1u << number;
        ++waiting_;
        return true;
    }
    // The first frames in the order in which they are to leave; how many.
    std::size_t peek(std::span<Frame> to) const {
        std::size_t count = 0;
        for (unsigned left = occupied_; left != 0; left &= left - 1) {
            const auto& queue = queues_[static_cast<unsigned>(std::countr_zero(left))];
            for (std::size_t at = queue.head; at != queue.tail; ++at) {
                if (count == to.size()) return count;
                to[count++] = queue.frames[at & mask_];
            }
        }
        return count;
    }
    // The first `count` frames have left; `of` is called with each class's number of them.
    template <typename Of>
    void drop(std::size_t count, const Of& of) {
        waiting_ -= count;
        while (count != 0) {
            const auto number = static_cast<unsigned>(std::countr_zero(occupied_));
            auto& queue = queues_[number];
            const std::size_t gone = std::min(count, queue.tail - queue.head);
            queue.head += gone;
            count -= gone;
            of(number, gone);
            if (queue.head == queue.tail) occupied_ &= occupied_ - 1;
        }
    }
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

  private:
    struct Queue {
        std::vector<Frame> frames;  // a ring
        std::size_t head = 0, tail = 0;
    };

    std::array<Queue, classes> queues_;
    std::size_t most_, mask_, waiting_ = 0;
    unsigned occupied_ = 0;  // a bit for each class with frames
};

// Writes a DSCP into an IPv4 frame and keeps its checksum right (RFC 1624); false where it is no IPv4 frame.
[[nodiscard]] inline bool mark_dscp(Room frame, unsigned dscp) {
    if (frame.size() < 34 || load_be16(frame.data() + 12) != 0x0800 || std::to_integer<unsigned>(frame[14]) >> 4 != 4)
        return false;
    std::byte* ip = frame.data() + 14;
    const std::uint32_t before = load_be16(ip);
    ip[1] = std::byte(dscp << 2) | (ip[1] & std::byte{3});
    std::uint32_t sum = (~load_be16(ip + 10) & 0xFFFFu) + (~before & 0xFFFFu) + load_be16(ip);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    store_be16(ip + 10, static_cast<std::uint16_t>(~sum));
    return true;
}

}  // namespace offramp
