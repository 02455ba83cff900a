// SPDX-License-Identifier: Apache-2.0
// SwitchGNN's switch for tests, as the specification has it: a duplicate guard, aggregators that count down, a barrier.
#pragma once

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "switchgnn/plan.hpp"

namespace offramp::switchgnn::testing {

struct Frame {
    std::size_t port;
    std::vector<std::byte> bytes;
};

// It derives the plans from all workers' shares.
class Switch {
  public:
    explicit Switch(const std::vector<std::vector<Plan>>& workers);
    // Frames that leave when a frame comes in.
    void process(Bytes frame, std::vector<Frame>& out);

  private:
    struct Aggregator {
        std::uint32_t left = 0;
        bool fresh = true, dead = false;
        std::array<std::int32_t, most_segments * lanes> sum{};
    };
    using Key = std::tuple<std::uint16_t, std::uint32_t, std::uint8_t>;  // block, vertex, chunk

    void upload(const Packet& packet, std::vector<Frame>& out);
    void done(const Packet& packet, std::vector<Frame>& out);
    void go(std::size_t port, std::vector<Frame>& out) const;

    std::map<std::pair<std::uint16_t, std::uint32_t>, std::size_t> owner_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint32_t> need_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<std::uint32_t>> readers_;
    std::map<Key, Aggregator> aggregators_;
    std::set<Key> seen_;
    std::set<std::size_t> done_;
    std::size_t workers_;
    std::uint16_t round_ = 0;
};

}  // namespace offramp::switchgnn::testing
