// SPDX-License-Identifier: Apache-2.0
// One worker's share of the plans that the switch has (offramp.switchgnn.local_block), read from what the host
// wrote; everything in it is checked before use.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "switchgnn/wire.hpp"

namespace offramp::switchgnn {

using Numbers = std::vector<std::uint32_t>;

// Position of an id in an ascending list.
class Ids {
  public:
    static constexpr std::uint32_t none = 0xFFFFFFFF;

    Ids() = default;
    explicit Ids(const Numbers& ids);
    [[nodiscard]] std::uint32_t find(std::uint32_t id) const {
        for (std::size_t at = slot(id);; at = (at + 1) & mask_) {
            if (slots_[at].id == id) return slots_[at].place;
            if (slots_[at].place == none) return none;
        }
    }

  private:
    struct Slot {
        std::uint32_t id = no_id, place = none;
    };
    [[nodiscard]] std::size_t slot(std::uint32_t id) const { return (id * 0x9E3779B9u >> 7) & mask_; }

    std::vector<Slot> slots_{1};
    std::size_t mask_ = 0;
};

// Remote vertices and the own ones that each is joined to.
struct Edges {
    Numbers remotes;         // ascending
    Numbers indptr, locals;  // places of the own vertices of each
    Ids ids;                 // of the remote ones
};

struct Block {
    std::uint16_t id = 0;
    Numbers vertices;  // own ones, ascending
    Numbers rows;      // row of each in an exchange
    Numbers need;      // number of contributions to each
    Numbers fan_out;   // number of sums to which each is added
    Numbers order;     // order of uploads
    std::shared_ptr<const Edges> sources;  // what own vertices need
    std::shared_ptr<const Edges> readers;  // to whose sums own uploads are added: in the paper's blocks, the same edges
    Numbers way_of;      // the way (a vertex and a leaf) of each edge of the sources
    Numbers way_vertex;  // the vertex of each way
    Ids vertex_ids;
    Numbers shared;  // number of each vertex whose row another block has, too, among all such of the plan; else none
};

struct Plan {
    std::uint32_t chunks = 0, segments = 1;  // packets per vector, most segments per packet
    std::uint32_t boundary = 0;              // rows of an exchange
    std::vector<Block> blocks;
    std::uint32_t shared = 0;  // vertices whose row several blocks have, in all blocks together

    [[nodiscard]] std::size_t chunk_lanes() const { return segments * lanes; }
    // Segments of one chunk of a vector with that many features.
    [[nodiscard]] std::uint8_t segments_of(std::size_t width, std::size_t chunk) const {
        const std::size_t first = chunk * chunk_lanes(), left = width > first ? width - first : 1;
        return static_cast<std::uint8_t>(std::min<std::size_t>(segments, (left + lanes - 1) / lanes));
    }
};

// Fills in `shared`, which all readers of plans do themselves.
void number_shared(Plan& plan);

// Reads plans; returns false and the reason if they are malformed.
[[nodiscard]] bool read_plans(Bytes text, std::vector<Plan>& plans, std::string& error);

}  // namespace offramp::switchgnn
