// SPDX-License-Identifier: Apache-2.0
// Hermod's end host: coflows out in strict order, a frame at a time, and in to where they belong.
//
// A transfer is sent once its receiver has said READY, and over when it has said DONE. What does not come is asked for
// again by READY of what is missing.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hermod/scheduler.hpp"
#include "hermod/wire.hpp"

namespace offramp::hermod {

using Time = std::int64_t;

struct Stats {
    std::uint64_t sent = 0, received = 0, repeated = 0, duplicates = 0, rejected = 0, foreign = 0;
};

class Endpoint {
  public:
    // `ranks` includes this one; `retry`: without news for so long something is repeated.
    Endpoint(std::uint32_t rank, std::vector<Address> ranks, std::uint8_t control_dscp, Time retry)
        : rank_(rank), ranks_(std::move(ranks)), control_dscp_(control_dscp), retry_(retry) {}

    // Begins a request; returns false and the reason if it makes no sense in this memory.
    bool submit(std::uint64_t request, Bytes message, Room memory, std::string& error);
    void incoming(Bytes frame);
    // Writes the next frame, at most `frame_bytes` long, and says its class; 0 where there is none.
    [[nodiscard]] std::size_t outgoing(std::byte* frame, unsigned& place);
    void tick(Time now);
    // A request that is over; false where there is none.
    bool finished(std::uint64_t& request);

    [[nodiscard]] bool active() const { return !coflows_.empty(); }
    [[nodiscard]] const Stats& stats() const { return stats_; }

  private:
    using Route = std::pair<std::uint32_t, std::uint32_t>;  // peer and message
    struct Incoming {
        std::byte* data;
        std::uint64_t size, missing;  // bytes
        std::vector<std::uint8_t> there;  // by cell
        Coflow* coflow;
        bool idle;
    };

    bool take(const queue::Coflow& asked, const std::byte* numbers, Room memory, Coflow& coflow, std::string& error);
    void take_data(const Packet& packet);
    void take_ready(const Packet& packet);
    void take_done(const Packet& packet);
    void over(Coflow& coflow);
    void say(Kind kind, std::uint32_t peer, std::uint32_t message, std::uint64_t start, std::uint64_t stop,
             std::uint64_t total);
    void say_missing(const Route& route, const Incoming& incoming);

    std::uint32_t rank_;
    std::vector<Address> ranks_;
    std::uint8_t control_dscp_;
    Time retry_, next_look_ = 0;
    std::uint64_t submitted_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Coflow>> coflows_;  // by number of submission
    std::map<Route, Outgoing> out_;
    std::map<Route, Incoming> in_;
    std::set<Route> early_;  // READY that came before the transfer
    Scheduler scheduler_;
    std::deque<std::pair<std::uint32_t, Packet>> control_;  // with the peer
    std::deque<std::uint64_t> finished_;
    Stats stats_;
};

}  // namespace offramp::hermod
