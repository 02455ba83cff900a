// SPDX-License-Identifier: Apache-2.0
// Plans as a client writes them; a worker with those that are believed goes through an exchange, and must stay inside
// the memory that they ask for.
#include <memory>

#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

constexpr std::uint64_t most_cells = 1024;

void receive(Endpoint& endpoint, const Packet& packet) {
    std::byte frame[most_bytes] = {};
    endpoint.incoming({frame, build(frame, 0, packet)});
}

void go(Endpoint& endpoint, std::uint16_t round) {
    Packet packet;
    packet.kind = Kind::done;
    packet.round = round;
    receive(endpoint, packet);
}

// The worker hears its own frames and everything that it asks for, until nothing is left to say.
void echo(Endpoint& endpoint, Time now) {
    std::byte frame[most_bytes];
    for (std::uint64_t sent = 0; sent < 4 * most_cells; ++sent) {
        const std::size_t length = endpoint.outgoing(frame);
        if (length == 0) break;
        endpoint.incoming({frame, length});
    }
    endpoint.tick(now);
}

void work(const std::vector<Plan>& plans, std::uint32_t number) {
    const Plan& plan = plans[number];
    std::uint64_t cells = 0;
    for (const auto& block : plan.blocks) cells += block.vertices.size() * plan.chunks;
    if (cells > most_cells || plan.boundary > most_cells || plan.blocks.size() > 64) return;
    const std::uint32_t width = plan.chunks * static_cast<std::uint32_t>(plan.chunk_lanes()) - number % 2;
    std::vector<std::byte> values(std::size_t{plan.boundary} * width * 4);
    std::vector<std::int64_t> sums(std::size_t{plan.boundary} * width), scratch(std::size_t{plan.shared} * width);
    std::uint64_t journal = 0;
    Endpoint endpoint(0, plans, {1000, 8000, number % 2 == 0, number % 2 == 0}, &journal);
    endpoint.start();
    std::uint16_t round = 0;
    Time now = 0;
    go(endpoint, ++round);
    if (!endpoint.begin({number, width, 1, values.data(), sums.data(), scratch.data()})) return;
    for (const auto& block : plan.blocks) {
        echo(endpoint, now += 600);
        echo(endpoint, now += 6000);
        for (std::size_t v = 0; v < block.vertices.size(); ++v)
            for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
                Packet result;
                result.dst = block.vertices[v];
                result.block = block.id;
                result.count = static_cast<std::uint16_t>(block.need[v]);
                result.chunk = static_cast<std::uint8_t>(chunk);
                result.segments = plan.segments_of(width, chunk);
                result.round = round;
                receive(endpoint, result);
            }
        echo(endpoint, now += 600);
        go(endpoint, ++round);
    }
    if (endpoint.finished() && !endpoint.waiting()) endpoint.collect();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string error;
    std::vector<Plan> plans;
    const std::vector<std::byte> text(reinterpret_cast<const std::byte*>(data),
                                      reinterpret_cast<const std::byte*>(data) + size);
    if (read_plans(text, plans, error))
        for (std::uint32_t number = 0; number < plans.size() && number < 4; ++number) work(plans, number);
    return 0;
}
