// SPDX-License-Identifier: Apache-2.0
// One rank of all-reduce (offramp.allreduce.compiled): the agent's endpoint in the process that trains. Python carries its
// frames, or lends it a socket for a while.
#include <cstdio>
#include <optional>
#include <utility>

#include "allreduce/endpoint.hpp"
#include "datagram_link.hpp"
#include "settings.hpp"
#include "socket_link.hpp"

using namespace offramp;
using namespace offramp::allreduce;

extern "C" {

// Outcome of an exchange.
enum offramp_rank_outcome { rank_done = 0, rank_interrupted = 1, rank_gone = 2, rank_stalled = 3 };
}

namespace {

constexpr int messages_at_once = 4;  // taken before frames are sent again

int fault_of(const SocketLink&) { return 0; }
int fault_of(const DatagramLink& link) { return link.fault; }

class Rank {
  public:
    explicit Rank(const Settings& settings) : endpoint(settings) {}

    // The link on a descriptor: a UDP socket's, where there are runs of frames, else a Unix socket's.
    template <class With>
    auto on(int descriptor, std::size_t longest_run, const With& with) {
        if (descriptor_ != descriptor) {
            unix_.reset();
            udp_.reset();
            descriptor_ = descriptor;
            if (longest_run != 0)
                udp_.emplace(descriptor, longest_run);
            else
                unix_.emplace(descriptor);
        }
        return udp_ ? with(*udp_) : with(*unix_);
    }

    // Frames to send now, side by side; those that a busy link did not take come first.
    Bytes outgoing(std::size_t limit) {
        const Bytes unsent = std::exchange(unsent_, {});
        return unsent.empty() ? endpoint.outgoing(limit) : unsent;
    }

    // Moves frames over a socket until all that was begun is summed, for at most `wait` nanoseconds; once at least.
    template <class AnyLink>
    offramp_rank_outcome exchange(AnyLink& link, std::size_t burst, Time wait) {
        const bool summing = !endpoint.idle();
        Time now = clock_now(), moved = now;
        const Time until = now + wait;
        for (;;) {
            unsent_ = outgoing(burst);
            const std::size_t before = unsent_.size();
            const auto spoken = unsent_.empty() ? Link::Outcome::busy : link.send(unsent_, endpoint.frame_bytes());
            const auto received = receive(link);
            now = clock_now();
            endpoint.tick(now);
            if ((summing && endpoint.idle()) || !endpoint.failure().empty()) return rank_done;
            if (spoken == Link::Outcome::gone || received == Link::Outcome::gone) return rank_gone;
            const bool full = !unsent_.empty();
            if (received == Link::Outcome::done || unsent_.size() < before) moved = now;
            if (full && now - moved > stall) return rank_stalled;
            if (!full && (now >= until || endpoint.idle())) return rank_done;
            if (moved != now && !link.wait(full, full ? patience : until - now)) return rank_interrupted;
        }
    }

    Endpoint endpoint;

  private:
    static constexpr Time patience = 1'000'000'000;  // with which a busy link is waited for

    // Takes some of what has arrived; busy where that was nothing.
    template <class AnyLink>
    Link::Outcome receive(AnyLink& link) {
        auto all = Link::Outcome::busy;
        for (int taken = 0; taken < messages_at_once; ++taken) {
            const auto outcome = link.receive([this](Bytes frame) { endpoint.incoming(frame); });
            if (outcome == Link::Outcome::busy) return all;
            if (outcome != Link::Outcome::done) return outcome;
            all = outcome;
        }
        return all;
    }

    std::optional<SocketLink> unix_;
    std::optional<DatagramLink> udp_;
    int descriptor_ = -1;
    Bytes unsent_;  // in the endpoint's memory, which stays until it is asked for more
};

}  // namespace

// A rank with `settings`, which are within the bounds that Python checks.
OFFRAMP_API void* offramp_rank_open(const Settings* settings) { return new Rank(*settings); }

// Starts to sum `count` elements; both arrays stay as they are until it is over.
OFFRAMP_API void offramp_rank_begin(void* rank, std::uint32_t type, std::uint64_t count, const std::byte* values,
                                    std::byte* sums) {
    static_cast<Rank*>(rank)->endpoint.begin({static_cast<Type>(type), count, values, sums});
}

// Moves frames over the connected socket `descriptor`, which stays the caller's: an `offramp_rank_outcome`. `longest_run` is 0
// for a Unix socket. `counts` are of frames received and sent, malformed messages, and the errno of a link that is gone.
OFFRAMP_API int offramp_rank_exchange(void* rank, int descriptor, std::size_t longest_run, std::size_t burst,
                                      std::int64_t wait, std::uint64_t* counts) {
    auto& of = *static_cast<Rank*>(rank);
    return of.on(descriptor, longest_run, [&](auto& link) {
        const auto outcome = of.exchange(link, burst, wait);
        counts[0] = std::exchange(link.received, 0);
        counts[1] = std::exchange(link.sent, 0);
        counts[2] = std::exchange(link.malformed, 0);
        counts[3] = static_cast<std::uint64_t>(fault_of(link));
        return outcome;
    });
}

// Up to `limit` frames to send now, side by side at `frames` until the next call; how many.
OFFRAMP_API std::size_t offramp_rank_outgoing(void* rank, std::size_t limit, const std::byte** frames) {
    auto& of = *static_cast<Rank*>(rank);
    const Bytes out = of.outgoing(limit);
    *frames = out.data();
    return out.size() / of.endpoint.frame_bytes();
}

// Takes `count` frames of `lengths` bytes, `stride` apart.
OFFRAMP_API void offramp_rank_incoming(void* rank, const std::byte* frames, std::size_t stride,
                                       const std::int32_t* lengths, std::size_t count) {
    auto& of = static_cast<Rank*>(rank)->endpoint;
    for (std::size_t i = 0; i < count; ++i)
        of.incoming({frames + i * stride, static_cast<std::size_t>(lengths[i])});
}

OFFRAMP_API void offramp_rank_tick(void* rank, std::int64_t now) { static_cast<Rank*>(rank)->endpoint.tick(now); }

// The endpoint's counters, its progress and the number of finished tensors: 64-bit numbers.
OFFRAMP_API void offramp_rank_numbers(const void* rank, std::uint64_t* to) {
    const auto& of = static_cast<const Rank*>(rank)->endpoint;
    const Stats& stats = of.stats();
    const std::uint64_t numbers[] = {stats.sent,  stats.repeated, stats.results,  stats.duplicates,
                                     stats.pulls, stats.foreign,  of.progress(), of.finished()};
    std::memcpy(to, numbers, sizeof numbers);
}

// Why nothing goes on (empty if it does), what errors begin with, what is missing.
enum offramp_rank_text { rank_failure = 0, rank_name = 1, rank_state = 2 };
OFFRAMP_API void offramp_rank_say(const void* rank, std::uint32_t which, char* text, std::size_t room) {
    const auto& of = static_cast<const Rank*>(rank)->endpoint;
    const std::string said = which == rank_failure ? of.failure() : which == rank_name ? of.name() : of.state();
    std::snprintf(text, room, "%s", said.c_str());
}

OFFRAMP_API void offramp_rank_close(void* rank) { delete static_cast<Rank*>(rank); }
