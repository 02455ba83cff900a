// SPDX-License-Identifier: Apache-2.0
// A client's queue: requests out of shared memory, to the functions, and completions back. Runs on one core.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coflows.hpp"
#include "compressor.hpp"
#include "descriptor.hpp"
#include "offload.hpp"
#include "queue_state.hpp"
#include "rank.hpp"
#include "rings.hpp"
#include "transport.hpp"

namespace offramp {

class Queue {
  public:
    // `bell` is the agent's end of the socket by which both sides wake each other.
    // A state of another process' queue is gone on with; its tables and transport are to be given again.
    Queue(std::shared_ptr<Region> region, Descriptor bell, const QueueState& state);

    void add(std::shared_ptr<Region> region) { regions_.push_back(std::move(region)); }
    // Gives a function its tables; returns false and the reason on failure.
    bool set_tables(const protocol::Tables& asked, std::string& error);
    bool open_transport(const protocol::Transport& asked, Port& port, std::string& error);
    bool open_coflows(const protocol::Coflows& asked, Port& port, std::string& error);
    bool open_rank(const protocol::Rank& asked, Port& port, std::string& error);

    // Works on what is there; whether there was anything.
    bool poll(Compressor* compressor, Time now);
    // Hears the client's bell.
    void listen();

    // Where it stands; only while no core works on it.
    [[nodiscard]] QueueState state() const;
    // Whether it has what no other process can go on with.
    [[nodiscard]] bool stays() const { return coflows_ != nullptr || rank_ != nullptr; }
    [[nodiscard]] int bell() const { return bell_.get(); }
    [[nodiscard]] bool active() const {
        return (transport_ && transport_->active()) || (coflows_ && coflows_->active()) || (rank_ && rank_->active());
    }
    [[nodiscard]] bool has_transport() const { return transport_ != nullptr || stays(); }
    // Whether the client lied, and how: it is to be cut off.
    [[nodiscard]] bool broken() const { return broken_.load(std::memory_order_acquire); }
    [[nodiscard]] const std::string& lie() const { return lie_; }
    [[nodiscard]] std::uint64_t requests() const { return requests_.load(std::memory_order_relaxed); }

  private:
    struct Pending {
        Submission entry;
        Time since;
        std::byte* answer;
    };

    [[nodiscard]] std::byte* at(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const;
    bool take_tables(const protocol::Tables& asked, std::string& error);
    Answer run(const Submission& entry, Bytes message, Room answer, Compressor* compressor, Time now, std::string& text);
    Answer memory(Function function, Bytes message, Room answer);
    bool handle(const Submission& entry, Compressor* compressor, Time now);
    bool finish_pending(Time now);
    bool finish_coflows();
    bool finish_sums(Time now);
    void complete(const Submission& entry, Answer answer, std::uint64_t busy_ns);
    void accuse(std::string lie);

    std::vector<std::shared_ptr<Region>> regions_;
    std::shared_ptr<Region> ring_region_;
    Rings rings_;
    QueueState before_;  // as it was asked for, and what it began with
    Descriptor bell_;
    Tables tables_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Coflows> coflows_;
    std::unique_ptr<Rank> rank_;
    std::optional<Pending> pending_;
    std::optional<Submission> again_;  // what another process had begun
    std::atomic<bool> broken_ = false;
    std::atomic<std::uint64_t> requests_ = 0;
    std::string lie_;
};

}  // namespace offramp
