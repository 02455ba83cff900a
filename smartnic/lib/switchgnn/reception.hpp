// The sums that a worker collects in one round (offramp.switch.switchgnn.reception).
#pragma once

#include <vector>

#include "switchgnn/plan.hpp"
#include "switchgnn/stats.hpp"

namespace offramp::switchgnn {

// Every packet may arrive again or out of order; one that does not fit the plan changes nothing.
class Reception {
  public:
    // `sums` has 32 numbers for each vertex and chunk of the block; they are set to zero.
    Reception(const Block& block, std::uint32_t chunks, std::int64_t* sums, Stats& stats);

    // Takes a packet with payload of this round; whether it told something new.
    bool accept(const Packet& packet);
    [[nodiscard]] bool complete() const { return open_ == 0; }

    // What to fetch, as packets; what was asked for before is marked as repeated.
    void missing(std::vector<Packet>& to);

    // What was completed since the last call, as ACKs.
    void finished_since(std::vector<Packet>& to);

    [[nodiscard]] std::size_t missing_vertices() const;

  private:
    bool accept_result(const Packet& packet);
    bool accept_feature(const Packet& packet);
    bool release(std::uint32_t source, std::uint32_t target, std::uint32_t chunk, std::uint32_t& cell);
    void finish(std::uint32_t cell);

    const Block& block_;
    std::uint32_t chunks_;
    std::int64_t* sums_;
    Stats& stats_;
    std::vector<std::uint8_t> finished_, marked_;  // by cell: a vertex and a chunk
    std::vector<std::uint8_t> released_;           // by way and chunk
    std::vector<std::uint8_t> cached_;             // the receive bitmaps, by source and chunk, shared by all vertices
    std::vector<std::uint8_t> asked_;              // by entry of `targets` and chunk
    std::vector<std::uint32_t> missing_, unreleased_;  // by cell
    std::vector<std::uint32_t> news_;
    std::size_t open_ = 0;
};

}  // namespace offramp::switchgnn
