// SPDX-License-Identifier: Apache-2.0
// An Ethernet port of DPDK's, used by one core at a time.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "bytes.hpp"
#include "scheduler.hpp"

namespace offramp {

class Port {
  public:
    static constexpr std::size_t burst = 64, most_waiting = 4096;

    // Starts it; nothing, and why, where the driver refuses.
    static std::unique_ptr<Port> open(std::uint16_t number, std::string name, std::string& why);
    ~Port();

    [[nodiscard]] const std::string& name() const { return name_; }

    // Gives each frame that has arrived to `take`, at most a burst; how many there were.
    template <typename Take>
    std::size_t receive(const Take& take) {
        return each_frame([&](rte_mbuf* frame) {
            take(Bytes{rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len});
            return false;
        });
    }

    // Has each frame that has arrived changed by `answer(Room)` and sent back, but for those of which it says false.
    template <typename Answer>
    std::size_t turn_round(const Answer& answer) {
        return each_frame([&](rte_mbuf* frame) {
            return answer(Room{rte_pktmbuf_mtod(frame, std::byte*), frame->data_len}) && waiting_.push(0, frame);
        });
    }

    struct Made {
        std::size_t length;  // 0: none after all
        unsigned priority = 0;
    };
    // Queues the frame that `make(Room)` makes in the class that it says. False where there is none, or no room for one:
    // then `make` was not called.
    template <typename Make>
    bool queue(const Make& make) {
        if (waiting_.waiting() >= most_waiting || (spares_ == 0 && !refill())) return false;
        rte_mbuf* frame = spare_[spares_ - 1];
        const auto [length, priority] = make(Room{rte_pktmbuf_mtod(frame, std::byte*), room});
        if (length == 0) return false;
        frame->data_len = static_cast<std::uint16_t>(length);
        frame->pkt_len = frame->data_len;
        if (!waiting_.push(priority, frame)) return false;
        --spares_;
        return true;
    }

    // Hands queued frames to the device, those of lower classes first; how many it took.
    std::size_t flush();

    // Frames that wait, and room for more.
    [[nodiscard]] std::size_t waiting() const { return waiting_.waiting(); }

    [[nodiscard]] std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t sent() const;
    // Frames of a class that the device took.
    [[nodiscard]] std::uint64_t sent(unsigned priority) const { return sent_[priority].load(std::memory_order_relaxed); }
    // Frames that the device or the lack of buffers lost.
    [[nodiscard]] std::uint64_t missed() const;

    // Whether a worker has it.
    bool taken = false;

  private:
    static constexpr std::size_t room = 2048, ahead = 4;

    Port(std::uint16_t number, std::string name) : number_(number), name_(std::move(name)), waiting_(most_waiting) {}

    bool refill();

    // Gives a burst of frames to `take`, which keeps those of which it says true.
    template <typename Take>
    std::size_t each_frame(const Take& take) {
        std::array<rte_mbuf*, burst> frames;
        const std::size_t count = rte_eth_rx_burst(number_, 0, frames.data(), burst);
        if (count == 0) return 0;
        for (std::size_t i = 0; i < std::min(count, ahead); ++i) rte_prefetch0(rte_pktmbuf_mtod(frames[i], void*));
        unsigned done = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (i + ahead < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + ahead], void*));
            rte_mbuf* frame = frames[i];
            if (frame->nb_segs > 1 && rte_pktmbuf_linearize(frame) != 0) {  // memif chains one for each of its buffers
                broken_.store(broken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                frames[done++] = frame;
            } else if (!take(frame)) frames[done++] = frame;
        }
        rte_pktmbuf_free_bulk(frames.data(), done);
        received_.store(received() + count, std::memory_order_relaxed);
        return count;
    }

    std::uint16_t number_;
    std::string name_;
    rte_mempool* buffers_ = nullptr;
    std::array<rte_mbuf*, burst> spare_;
    std::size_t spares_ = 0;
    StrictPriority<rte_mbuf*> waiting_;
    std::atomic<std::uint64_t> received_ = 0, broken_ = 0;
    std::array<std::atomic<std::uint64_t>, classes> sent_{};
};

}  // namespace offramp
