// SPDX-License-Identifier: Apache-2.0
// The endpoint's work on the host's arrays: features into frames, sums of blocks into those of rows.
#include <algorithm>

#include "switchgnn/endpoint.hpp"

namespace offramp::switchgnn {

// The features of one vertex and chunk, filled up with zeros.
void Endpoint::payload(std::byte* frame, Upload of) const {
    const std::size_t row = block().rows[of.vertex], first = of.chunk * plan().chunk_lanes(), width = exchange_.width;
    const std::byte* from = exchange_.values + (row * width + first) * 4;
    std::byte* to = frame + short_bytes;
    const std::size_t carried = lanes * plan().segments_of(width, of.chunk);
    const std::size_t present = std::min(first < width ? width - first : 0, carried);
    std::size_t done = 0;
    for (; done + lanes <= present; done += lanes) to_network(from + 4 * done, to + 4 * done);
    for (; done < present; ++done) store_be32(to + 4 * done, load<std::uint32_t>(from + 4 * done));
    std::fill(to + 4 * done, to + 4 * carried, std::byte{0});
}

// Rows may be in several blocks: the first that has a row writes it, the others add. What is in one block only is there
// already.
void Endpoint::collect() {
    const Plan& plan = this->plan();
    const std::size_t width = exchange_.width;
    std::vector<bool> written(plan.boundary);
    for (const auto& block : plan.blocks)
        for (std::size_t v = 0; v < block.rows.size(); ++v) {
            const auto row = block.rows[v];
            if (block.shared[v] != Ids::none) {
                const std::int64_t* from = exchange_.scratch + block.shared[v] * width;
                std::int64_t* to = exchange_.sums + row * width;
                if (written[row])
                    for (std::size_t i = 0; i < width; ++i) add(to[i], from[i]);
                else
                    std::copy_n(from, width, to);
            }
            written[row] = true;
        }
    for (std::size_t row = 0; row < written.size(); ++row)
        if (!written[row]) std::fill_n(exchange_.sums + row * width, width, 0);
    running_ = false;
    complete_ = true;
    next_ = 0;
    note();
}

}  // namespace offramp::switchgnn
