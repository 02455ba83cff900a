// SPDX-License-Identifier: Apache-2.0
// One of a port's pairs of queues, with its owner: used by one core at a time.
//
// Frames come from three places: the pair's own queue, queues of the port that nobody has, and an inbox into which other
// cores put frames that the port's rules give to this lane. What the rules give to nobody is counted and freed.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include <array>
#include <atomic>

#include "bytes.hpp"
#include "scheduler.hpp"

namespace offramp {

class Port;

// Counts of one lane; one core writes, others read.
class Count {
  public:
    void operator+=(std::uint64_t more) { value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed); }
    operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

class Lane {
  public:
    static constexpr std::size_t burst = 64, most_waiting = 4096;

    struct Counts {
        Count received, unmatched, corrupt, handed, broken;
        std::array<Count, classes> sent;
    };

    Lane(Port& port, std::uint16_t number, rte_mempool* buffers, rte_ring* inbox)
        : port_(port), number_(number), buffers_(buffers), inbox_(inbox), waiting_(most_waiting) {}
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    [[nodiscard]] Port& port() const { return port_; }
    [[nodiscard]] std::uint16_t number() const { return number_; }

    // Gives each frame that has arrived for this lane to `take`; how many frames there were, with those for others.
    template <typename Take>
    std::size_t receive(const Take& take) {
        const auto give = [&](rte_mbuf* frame) { take(Bytes{rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len}); };
        Frames frames;
        std::size_t total = 0;
        if (const unsigned count = from_inbox(frames); count > 0) {
            for (unsigned i = 0; i < count; ++i) give(frames[i]);
            rte_pktmbuf_free_bulk(frames.data(), count);
            total += count;
        }
        Frames kept;
        for (std::uint16_t queue = number_; queue != none; queue = next_idle(queue)) {
            const unsigned count = from_queue(queue, frames);
            if (count == 0) continue;
            const unsigned mine = sort(frames, count, kept);
            for (unsigned i = 0; i < mine; ++i) {
                if (i + ahead < mine) rte_prefetch0(rte_pktmbuf_mtod(kept[i + ahead], void*));
                give(kept[i]);
            }
            rte_pktmbuf_free_bulk(kept.data(), mine);
            total += count;
        }
        return total;
    }

    // Has each frame that has arrived at the own queue, whatever it is, changed by `answer(Room)` and sent back, but for
    // those for which it returns false: for ends of links in measurements.
    template <typename Answer>
    std::size_t turn_round(const Answer& answer) {
        Frames frames;
        const unsigned count = from_queue(number_, frames);
        unsigned done = 0;
        for (unsigned i = 0; i < count; ++i) {
            rte_mbuf* frame = frames[i];
            if (!whole(frame) || !answer(Room{rte_pktmbuf_mtod(frame, std::byte*), frame->data_len}) ||
                !waiting_.push(0, frame))
                frames[done++] = frame;
        }
        rte_pktmbuf_free_bulk(frames.data(), done);
        return count;
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
        tag(frame);
        if (!waiting_.push(priority, frame)) return false;
        --spares_;
        return true;
    }

    // Hands queued frames to the device, those of lower classes first; how many it took.
    std::size_t flush();
    // Frees everything that has arrived and everything that waits.
    void drain();

    // Frames that wait, and room for more.
    [[nodiscard]] std::size_t waiting() const { return waiting_.waiting(); }
    // Frames for the owner that the device, or a lack of buffers, lost; the device counts for all of its queues.
    [[nodiscard]] std::uint64_t lost() const;
    [[nodiscard]] const Counts& counts() const { return counts_; }

    // Another core's way to give this lane a frame; false where it has as many as it may.
    bool hand(rte_mbuf* frame) { return rte_ring_enqueue(inbox_, frame) == 0; }

    [[nodiscard]] bool taken() const { return taken_.load(std::memory_order_acquire); }

  private:
    friend class Port;
    using Frames = std::array<rte_mbuf*, burst>;
    static constexpr std::size_t room = 2048, ahead = 4;
    static constexpr std::uint16_t none = 0xFFFF;

    unsigned from_inbox(Frames& frames);
    // A burst of one of the port's queues, unless another core is at it.
    unsigned from_queue(std::uint16_t queue, Frames& frames);
    // The next of the port's queues that nobody has.
    [[nodiscard]] std::uint16_t next_idle(std::uint16_t queue) const;
    // Gives frames to whom the rules say; those for this lane go to `kept`. How many these are.
    unsigned sort(Frames& frames, unsigned count, Frames& kept);
    // A frame in one piece; false where there is no buffer for it. Memif chains one for each of its buffers.
    bool whole(rte_mbuf* frame);
    // Fields that the device adds to a frame that leaves.
    void tag(rte_mbuf* frame);
    bool refill();

    Port& port_;
    std::uint16_t number_;
    rte_mempool* buffers_;
    rte_ring* inbox_;
    std::array<rte_mbuf*, burst> spare_;
    std::size_t spares_ = 0;
    StrictPriority<rte_mbuf*> waiting_;
    Counts counts_;
    std::atomic<bool> taken_ = false;
    std::atomic_flag polled_ = ATOMIC_FLAG_INIT;  // a core is at the queue
};

}  // namespace offramp
