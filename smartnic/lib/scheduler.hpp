// Strict priority among frames that wait for a port, and the code that network queues know them by (Hermod: a coflow's
// class is its DSCP). Class 0 leaves first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "bytes.hpp"

namespace offramp {

inline constexpr unsigned classes = 8;

template <typename Frame>
class StrictPriority {
  public:
    explicit StrictPriority(std::size_t most) : most_(most) {}

    // False where the class has as many frames waiting as it may.
    bool push(unsigned priority, Frame frame) {
        auto& queue = queues_[priority % classes];
        if (queue.size() >= most_) return false;
        queue.push_back(std::move(frame));
        ++waiting_;
        return true;
    }
    // The next frame: the first of the first class that has one.
    [[nodiscard]] Frame* front() {
        for (auto& queue : queues_)
            if (!queue.empty()) return &queue.front();
        return nullptr;
    }
    // The first frames in the order in which they are to leave; how many.
    std::size_t peek(std::span<Frame> to) const {
        std::size_t count = 0;
        for (const auto& queue : queues_)
            for (const auto& frame : queue) {
                if (count == to.size()) return count;
                to[count++] = frame;
            }
        return count;
    }
    void pop() {
        for (auto& queue : queues_)
            if (!queue.empty()) {
                queue.pop_front();
                --waiting_;
                return;
            }
    }
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

  private:
    std::array<std::deque<Frame>, classes> queues_;
    std::size_t most_, waiting_ = 0;
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
