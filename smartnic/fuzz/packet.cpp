// SPDX-License-Identifier: Apache-2.0
// The packet parser and all that a port feeds: a worker in the middle of a round gets frames of any bytes.
//
// The input is cut into frames: a length of one byte, then the bytes. Half of them get a good prefix, so that the
// fuzzer soon reaches the protocol.
#include <algorithm>
#include <memory>

#include "rules.hpp"
#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

// Two own vertices, two remote ones, all joined.
Plan plan() {
    Block block;
    block.id = 3;
    block.vertices = {1, 5};
    block.rows = {0, 1};
    block.need = {2, 2};
    block.fan_out = {2, 2};
    block.order = {1, 0};
    const Numbers remotes{2, 9};
    block.sources = std::make_shared<const Edges>(Edges{remotes, {0, 2, 4}, {0, 1, 0, 1}, Ids(remotes)});
    block.readers = block.sources;
    block.way_of = {0, 1, 0, 1};
    block.way_vertex = {0, 1};
    block.vertex_ids = Ids(block.vertices);
    Plan plan;
    plan.chunks = 2;
    plan.segments = 2;
    plan.boundary = 2;
    plan.blocks = {block, block};
    plan.blocks[1].id = 4;
    number_shared(plan);
    return plan;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> values(2 * 100 * 4);
    std::vector<std::int64_t> sums(2 * 100), scratch(4 * 100);
    std::uint64_t journal = 0;
    Endpoint endpoint(0, {plan()}, {1000, 8000, (size & 1) != 0, (size & 1) != 0}, &journal);
    std::byte out[most_bytes];
    Time now = 0;
    endpoint.start();
    bool begun = false;
    Bytes left = std::as_bytes(std::span(data, size));
    while (!left.empty()) {
        const std::size_t length = std::min<std::size_t>(std::to_integer<std::size_t>(left[0]), left.size() - 1);
        std::vector<std::byte> frame(left.begin() + 1, left.begin() + 1 + static_cast<std::ptrdiff_t>(length));
        if (length % 2 == 0 && length >= 16) {
            std::vector<std::byte> whole(most_bytes);
            build(whole.data(), 0, {});
            std::copy_n(frame.begin(), std::min<std::size_t>(length, 144), whole.begin() + prefix_bytes);
            frame = std::move(whole);
        }
        rules::Destination destination{};
        if (rules::read(frame, destination)) static_cast<void>(rules::intact(frame));
        endpoint.incoming(frame);
        left = left.subspan(1 + length);
        endpoint.tick(now += 700);
        while (endpoint.outgoing(out) != 0) {
        }
        if (endpoint.finished() && !endpoint.waiting()) {
            if (begun) endpoint.collect();
            begun = endpoint.begin({0, 100, 1, values.data(), sums.data(), scratch.data()});
        }
    }
    return 0;
}
