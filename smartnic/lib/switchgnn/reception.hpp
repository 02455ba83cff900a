// SPDX-License-Identifier: Apache-2.0
// The sums that a worker collects in one round (offramp.switchgnn.reception).
#pragma once

#include <vector>

#include "switchgnn/plan.hpp"
#include "formats/stats.hpp"

namespace offramp::switchgnn {

// Destinations of a block's sums: those of a vertex whose row no other block has to that row, all others to scratch
// memory.
struct Sums {
    std::int64_t *scratch, *rows;
    std::size_t width, step;  // of a row, of a chunk

    [[nodiscard]] std::size_t first(std::uint32_t chunk) const { return std::min(chunk * step, width); }
    // Features of one chunk.
    [[nodiscard]] std::size_t count(std::uint32_t chunk) const { return std::min(step, width - first(chunk)); }
    [[nodiscard]] std::int64_t* at(const Block& block, std::uint32_t vertex, std::uint32_t chunk) const {
        const std::uint32_t shared = block.shared[vertex];
        std::int64_t* row = shared == Ids::none ? rows + block.rows[vertex] * width : scratch + shared * width;
        return row + first(chunk);
    }
};

// Every packet may arrive again or out of order; one that does not fit the plan changes nothing.
class Reception {
  public:
    // The destinations need not be cleared. Without `acks` nobody asks what was finished, and ECN marks of results
    // are counted here.
    Reception(const Block& block, const Plan& plan, Sums sums, Stats& stats, bool acks);

    // Takes a packet with payload of this round; whether it told something new.
    bool accept(const Packet& packet);
    [[nodiscard]] bool complete() const { return open_ == 0; }

    // Vertices to fetch, as packets, `limit` at most; those asked for before are marked as repeated. `anew`: anything is
    // asked for again, else only what has not been since that was last true.
    void missing(std::vector<Packet>& to, std::size_t limit, bool anew);

    // Sums completed since the last call, as ACKs.
    void finished_since(std::vector<Packet>& to);

    // Vertices with an incomplete chunk, ascending.
    [[nodiscard]] Numbers missing_vertices() const;

  private:
    bool accept_result(const Packet& packet);
    bool accept_feature(const Packet& packet);
    bool release(std::uint32_t source, std::uint32_t target, std::uint32_t chunk, std::uint32_t& cell);
    void finish(std::uint32_t cell);
    void set(std::int64_t* sum, const Packet& packet) const;

    const Block& block_;
    const Edges& sources_;
    std::uint32_t chunks_;
    std::vector<std::uint8_t> segments_;  // of each chunk
    Sums sums_;
    Stats& stats_;
    bool acks_;
    std::vector<std::uint8_t> finished_, begun_, marked_;  // by cell: a vertex and a chunk; `begun_`: its sum is written
    std::vector<std::uint8_t> released_;           // by way and chunk
    std::vector<std::uint8_t> cached_;             // the receive bitmaps, by source and chunk, shared by all vertices
    std::vector<std::uint8_t> asked_, tried_;      // by edge of the sources and chunk; ever, since the last time-out
    std::vector<std::uint32_t> missing_, unreleased_;  // by cell
    std::vector<std::uint32_t> news_;
    std::size_t open_ = 0;
};

}  // namespace offramp::switchgnn
