// SPDX-License-Identifier: Apache-2.0
// One rank of all-reduce without a link (offramp.allreduce.compiled): the agent's endpoint in the process that trains.
#include <cstdio>

#include "allreduce/endpoint.hpp"
#include "settings.hpp"

using namespace offramp;
using namespace offramp::allreduce;

// A rank with `settings`, which are within the bounds that Python checks.
OFFRAMP_API void* offramp_rank_open(const Settings* settings) { return new Endpoint(*settings); }

// Starts to sum `count` elements; both arrays stay as they are until it is over.
OFFRAMP_API void offramp_rank_begin(void* rank, std::uint32_t type, std::uint64_t count, const std::byte* values,
                                    std::byte* sums) {
    static_cast<Endpoint*>(rank)->begin({static_cast<Type>(type), count, values, sums});
}

// Up to `limit` frames to send now, side by side at `frames` until the next call; how many.
OFFRAMP_API std::size_t offramp_rank_outgoing(void* rank, std::size_t limit, const std::byte** frames) {
    auto& of = *static_cast<Endpoint*>(rank);
    const Bytes out = of.outgoing(limit);
    *frames = out.data();
    return out.size() / of.frame_bytes();
}

// Takes `count` frames of `lengths` bytes, `stride` apart.
OFFRAMP_API void offramp_rank_incoming(void* rank, const std::byte* frames, std::size_t stride,
                                       const std::int32_t* lengths, std::size_t count) {
    auto& of = *static_cast<Endpoint*>(rank);
    for (std::size_t i = 0; i < count; ++i)
        of.incoming({frames + i * stride, static_cast<std::size_t>(lengths[i])});
}

OFFRAMP_API void offramp_rank_tick(void* rank, std::int64_t now) { static_cast<Endpoint*>(rank)->tick(now); }

// The endpoint's counters, its progress and the number of finished tensors: 64-bit numbers.
OFFRAMP_API void offramp_rank_numbers(const void* rank, std::uint64_t* to) {
    const auto& of = *static_cast<const Endpoint*>(rank);
    const Stats& stats = of.stats();
    const std::uint64_t numbers[] = {stats.sent,  stats.repeated, stats.results,  stats.duplicates,
                                     stats.pulls, stats.foreign,  of.progress(), of.finished()};
    std::memcpy(to, numbers, sizeof numbers);
}

// Why nothing goes on (empty if it does), what errors begin with, what is missing.
enum offramp_rank_text { rank_failure = 0, rank_name = 1, rank_state = 2 };
OFFRAMP_API void offramp_rank_say(const void* rank, std::uint32_t which, char* text, std::size_t room) {
    const auto& of = *static_cast<const Endpoint*>(rank);
    const std::string said = which == rank_failure ? of.failure() : which == rank_name ? of.name() : of.state();
    std::snprintf(text, room, "%s", said.c_str());
}

OFFRAMP_API void offramp_rank_close(void* rank) { delete static_cast<Endpoint*>(rank); }
