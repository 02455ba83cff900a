// SPDX-License-Identifier: Apache-2.0
// A thread that moves frames between ports and machine code.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "exceptions.hpp"
#include "gate.hpp"
#include "port.hpp"
#include "ports.h"

namespace offramp {

class Worker;

// State shared by all workers, changed while they pause.
struct Plant {
    std::array<std::unique_ptr<Port>, most_ports> ports;  // by number
    std::vector<std::unique_ptr<Worker>> workers;
    rte_mempool* buffers = nullptr;
    Exceptions exceptions;
    Gate gate;
    bool by_flow = false;
};

class Worker {
  public:
    Worker(Plant& plant, unsigned number);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void start();
    void stats(offramp_worker_stats& into);

    offramp_program program{};
    std::vector<unsigned> ports;  // that it polls
    rte_ring* handed = nullptr;   // frames whose flow is this worker's

  private:
    struct Pending {
        unsigned count = 0;
        std::array<rte_mbuf*, burst> frames;
    };
    struct Burst {
        unsigned count = 0;
        std::array<rte_mbuf*, burst> frames;
        std::array<std::int32_t, burst> ports;
    };

    void work();
    bool poll();
    void receive(unsigned port);
    void spread(rte_mbuf** frames, unsigned count, unsigned port);
    void run(Burst& frames);
    void run_whole(Burst& frames);
    void distribute(Burst& frames, const offramp_leaving* leaving, long count, const std::uint8_t* heads);
    rte_mbuf* copy_of(const rte_mbuf* frame, const offramp_leaving& leaving, const std::uint8_t* head);
    void send(rte_mbuf* frame, std::int64_t port);
    void flush();

    // One writer, so that nothing need be locked.
    static void add(std::atomic<std::uint64_t>& count, std::uint64_t more) {
        count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    Plant& plant_;
    unsigned number_;
    std::thread thread_;
    std::array<Pending, most_ports> pending_;
    std::array<std::uint16_t, most_ports> sending_;  // the ports that have pending frames
    unsigned sendings_ = 0;
    std::atomic<std::uint64_t> received_ = 0, processed_ = 0, handed_ = 0, lost_ = 0, unknown_ = 0;
};

}  // namespace offramp
