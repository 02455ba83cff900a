// SPDX-License-Identifier: Apache-2.0
// One worker of SwitchGNN without a link (offramp.switchgnn.compiled_endpoint): the agent's endpoint in the process that trains,
// whose frames Python sends and receives over any transport.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "settings.hpp"
#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

class Exchanger {
  public:
    Exchanger(const offramp_worker_settings& settings, std::vector<Plan> plans)
        : endpoint(settings.worker, std::move(plans), recovery_of(settings), &journal_) {}

    void begin(std::uint32_t plan, std::uint32_t width, const std::byte* values, std::int64_t* sums) {
        const Plan& of = endpoint.plans()[plan];
        scratch_.resize(std::max<std::size_t>(scratch_.size(), std::size_t{of.shared} * width));
        begun_ = endpoint.begin({plan, width, ++number_, values, sums, scratch_.data()});
    }

    // Adds up the sums of an exchange that is over; whether it is.
    bool collect() {
        if (!endpoint.finished() || endpoint.waiting()) return false;
        if (begun_) endpoint.collect();
        begun_ = false;
        return true;
    }

  private:
    std::uint64_t journal_ = 0;
    std::vector<std::int64_t> scratch_;
    std::uint32_t number_ = 0;
    bool begun_ = false;

  public:
    Endpoint endpoint;
};

Endpoint& endpoint_of(void* exchanger) { return static_cast<Exchanger*>(exchanger)->endpoint; }

}  // namespace

// Creates a worker with these plans; returns nothing and the reason if they are malformed.
OFFRAMP_API void* offramp_exchange_open(const offramp_worker_settings* settings, const char* plans, std::size_t size,
                                        char* error) {
    std::vector<Plan> read;
    std::string fault;
    if (!read_plans({reinterpret_cast<const std::byte*>(plans), size}, read, fault)) {
        say(error, fault);
        return nullptr;
    }
    return new Exchanger(*settings, std::move(read));
}

// Begins to wait for the other workers.
OFFRAMP_API void offramp_exchange_start(void* exchanger) { endpoint_of(exchanger).start(); }

// Begins an exchange of (rows of the plan, width) int32 values; both arrays stay as they are until it is over.
OFFRAMP_API void offramp_exchange_begin(void* exchanger, std::uint32_t plan, std::uint32_t width, const void* values,
                                        std::int64_t* sums) {
    static_cast<Exchanger*>(exchanger)->begin(plan, width, static_cast<const std::byte*>(values), sums);
}

// Whether what began is over, everywhere; the sums are there then.
OFFRAMP_API int offramp_exchange_over(void* exchanger) { return static_cast<Exchanger*>(exchanger)->collect(); }

// Writes up to `limit` frames to send now, `most_bytes` apart, and their lengths; how many.
OFFRAMP_API std::size_t offramp_exchange_outgoing(void* exchanger, std::size_t limit, std::byte* frames,
                                                  std::int32_t* lengths) {
    std::size_t count = 0;
    for (; count < limit; ++count) {
        const std::size_t length = endpoint_of(exchanger).outgoing(frames + count * most_bytes);
        if (length == 0) break;
        lengths[count] = static_cast<std::int32_t>(length);
    }
    return count;
}

// Takes `count` frames of `lengths` bytes, `stride` apart.
OFFRAMP_API void offramp_exchange_incoming(void* exchanger, const std::byte* frames, std::size_t stride,
                                           const std::int32_t* lengths, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        endpoint_of(exchanger).incoming({frames + i * stride, static_cast<std::size_t>(lengths[i])});
}

// Repeats what may have been lost, at a time in nanoseconds.
OFFRAMP_API void offramp_exchange_tick(void* exchanger, std::int64_t now) {
    if (!endpoint_of(exchanger).has_outgoing()) endpoint_of(exchanger).tick(now);
}

// The endpoint's counters, then its progress: 64-bit numbers.
OFFRAMP_API void offramp_exchange_numbers(void* exchanger, std::uint64_t* to) {
    const Endpoint& of = endpoint_of(exchanger);
    const Stats stats = of.stats();
    std::memcpy(to, &stats, sizeof stats);
    const std::uint64_t progress = of.progress();
    std::memcpy(reinterpret_cast<std::byte*>(to) + sizeof stats, &progress, sizeof progress);
}

// Describes what is awaited, for an error message.
OFFRAMP_API void offramp_exchange_state(void* exchanger, char* text) { say(text, endpoint_of(exchanger).state()); }

OFFRAMP_API void offramp_exchange_close(void* exchanger) { delete static_cast<Exchanger*>(exchanger); }
