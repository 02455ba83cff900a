// SPDX-License-Identifier: Apache-2.0
// A rank of all-reduce on a port: the endpoint, and losses to try it with.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>

#include "allreduce/endpoint.hpp"
#include "port.hpp"
#include "protocol.hpp"
#include "region.hpp"

namespace offramp {

class Rank {
  public:
    // Returns nothing and the reason if the port does not have it.
    static std::unique_ptr<Rank> open(const protocol::Rank& asked, Port& port, std::string& error);
    ~Rank();

    struct Request {
        std::uint64_t number;
        Time since;
        Room answer;
    };
    // Queues a tensor to be summed; returns false and the reason if the memory does not hold it.
    bool submit(const Request& request, const queue::Sum& asked, std::shared_ptr<Region> region, std::string& error);
    // Moves frames; whether there was anything to do.
    bool poll(Time now);
    // The next request that is over, and why it failed; false where there is none.
    bool finished(Time now, Request& request, std::string& error);
    [[nodiscard]] bool active() const { return !requests_.empty(); }

    // Statistics as the host takes them: those of the endpoint, then received, sent, dropped, malformed, missed.
    static constexpr std::size_t stats_bytes = sizeof(allreduce::Stats) + 5 * 8;
    void write_stats(std::byte* to) const;

  private:
    struct Running {
        Request request;
        std::shared_ptr<Region> region;  // mapped for as long as its arrays are used
    };

    Rank(const protocol::Rank& asked, Lane& lane);
    bool send();

    protocol::Rank asked_;
    Lane& lane_;
    allreduce::Endpoint endpoint_;
    std::mt19937_64 random_;
    std::deque<Running> requests_;
    std::uint64_t finished_ = 0, progress_ = 0, received_ = 0, sent_ = 0, lost_before_;
    Time since_ = 0;
    std::string failure_;
    bool watched_ = false;
};

}  // namespace offramp
