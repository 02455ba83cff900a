// SPDX-License-Identifier: Apache-2.0
// A port of the program on an Ethernet device of DPDK's.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_spinlock.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "ports.h"

namespace offramp {

constexpr unsigned burst = 64, most_ports = 512, most_workers = 16;

class Port {
  public:
    // Starts the device; returns nothing and the reason if that fails.
    static std::unique_ptr<Port> open(const char* name, const char* arguments, unsigned workers, rte_mempool* buffers,
                                      std::string& error);
    ~Port();

    unsigned receive(rte_mbuf** frames) {
        const unsigned count = rte_eth_rx_burst(device_, 0, frames, burst);
        received_.store(received_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
        return count;
    }

    // Sends what the device takes and drops the rest.
    void send(unsigned worker, rte_mbuf** frames, unsigned count);

    // Frames from elsewhere: queued by any thread, sent by the worker that has the port.
    [[nodiscard]] rte_ring* injected() const { return injected_; }
    void stats(offramp_port_stats& into) const;

  private:
    Port() = default;
    bool start(unsigned workers, rte_mempool* buffers, std::string& error);

    struct alignas(64) Queue {
        rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;  // where workers share it
        std::atomic<std::uint64_t> sent = 0, dropped = 0;
    };

    std::uint16_t device_ = RTE_MAX_ETHPORTS;
    bool ours_ = false, shared_ = false;
    unsigned queues_ = 1;
    rte_ring* injected_ = nullptr;
    std::atomic<std::uint64_t> received_ = 0;
    std::array<Queue, most_workers> queue_;
};

}  // namespace offramp
