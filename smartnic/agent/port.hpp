// An Ethernet port of DPDK's, used by one core at a time.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "bytes.hpp"
#include "scheduler.hpp"

namespace offramp {

class Port {
  public:
    static constexpr std::size_t burst = 32, most_waiting = 4096;

    // Starts it; nothing, and why, where the driver refuses.
    static std::unique_ptr<Port> open(std::uint16_t number, std::string name, std::string& why);
    ~Port();

    [[nodiscard]] const std::string& name() const { return name_; }

    // Gives each frame that has arrived to `take`, at most a burst; how many there were.
    template <typename Take>
    std::size_t receive(const Take& take) {
        std::array<rte_mbuf*, burst> frames;
        const std::uint16_t count = rte_eth_rx_burst(number_, 0, frames.data(), burst);
        for (std::uint16_t i = 0; i < count; ++i) {
            take(Bytes{rte_pktmbuf_mtod(frames[i], const std::byte*), frames[i]->data_len});
            rte_pktmbuf_free(frames[i]);
        }
        if (count != 0) received_.fetch_add(count, std::memory_order_relaxed);
        return count;
    }

    // Makes a frame of `make(Room)`, which says how long it became (0: none after all), and queues it in a class.
    // False where there is no frame, or no room for one: then `make` was not called.
    template <typename Make>
    bool queue(unsigned priority, const Make& make) {
        if (waiting_.waiting() >= most_waiting) return false;
        rte_mbuf* frame = rte_pktmbuf_alloc(buffers_);
        if (frame == nullptr) return false;
        const std::size_t length = make(Room{rte_pktmbuf_mtod(frame, std::byte*), room});
        frame->data_len = static_cast<std::uint16_t>(length);
        frame->pkt_len = frame->data_len;
        if (length == 0 || !waiting_.push(priority, frame)) {
            rte_pktmbuf_free(frame);
            return false;
        }
        return true;
    }

    // Hands queued frames to the device, those of lower classes first; how many it took.
    std::size_t flush();

    // Frames that wait, and room for more.
    [[nodiscard]] std::size_t waiting() const { return waiting_.waiting(); }

    [[nodiscard]] std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
    // Frames that the device or the lack of buffers lost.
    [[nodiscard]] std::uint64_t missed() const;

    // Whether a worker has it.
    bool taken = false;

  private:
    static constexpr std::size_t room = 2048;

    Port(std::uint16_t number, std::string name) : number_(number), name_(std::move(name)), waiting_(most_waiting) {}

    std::uint16_t number_;
    std::string name_;
    rte_mempool* buffers_ = nullptr;
    StrictPriority<rte_mbuf*> waiting_;
    std::atomic<std::uint64_t> received_ = 0, sent_ = 0;
};

}  // namespace offramp
