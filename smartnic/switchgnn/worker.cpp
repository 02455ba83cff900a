// SPDX-License-Identifier: Apache-2.0
// One worker of SwitchGNN on a link (offramp.switchgnn.compiled_worker): the agent's endpoint in the process that trains.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "settings.hpp"
#include "shared_link.hpp"
#include "socket_link.hpp"
#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

constexpr double line_bps = 100e9;
constexpr double burst_ns = 50e3;  // that a worker may be behind its pace
static_assert(most_bytes <= Link::longest);

}  // namespace

extern "C" {

// Outcome of a call.
enum offramp_worker_outcome { worker_done = 0, worker_interrupted = 1, worker_silent = 2, worker_gone = 3, worker_stalled = 4, worker_lied = 5 };
}

namespace {

class Worker {
  public:
    Worker(const offramp_worker_settings& settings, std::vector<Plan> plans, std::unique_ptr<Link> link)
        : settings_(settings),
          link_(std::move(link)),
          endpoint_(settings.worker, std::move(plans), recovery_of(settings), &journal_) {}

    void start() {
        endpoint_.start();
        begun();
    }

    void begin(std::uint32_t plan, std::uint32_t width, const std::byte* values, std::int64_t* sums) {
        const Plan& of = endpoint_.plans()[plan];
        scratch_.resize(std::max<std::size_t>(scratch_.size(), std::size_t{of.shared} * width));
        exchanging_ = endpoint_.begin({plan, width, ++number_, values, sums, scratch_.data()});
        begun();
    }

    // Goes on until what began is over, everywhere.
    offramp_worker_outcome run(std::string& error) {
        for (;;) {
            Time now = clock_now();
            const auto spoken = speak(now);
            if (spoken == Link::Outcome::gone) return worker_gone;
            const auto outcome = receive();
            if (over()) {
                if (exchanging_) endpoint_.collect();
                exchanging_ = false;
                return worker_done;
            }
            if (outcome == Link::Outcome::lie) return worker_lied;
            if (outcome == Link::Outcome::gone) return worker_gone;
            if (endpoint_.progress() != progress_) {
                progress_ = endpoint_.progress();
                since_ = now;
            } else if (now - since_ > settings_.limit) {
                error = endpoint_.state();
                return worker_silent;
            }
            if (outcome == Link::Outcome::done || spoken == Link::Outcome::done) continue;
            if (link_->full() && now - taken_ > stall) return worker_stalled;
            if (!endpoint_.has_outgoing()) endpoint_.tick(now);
            if (endpoint_.has_outgoing() && !link_->full() && static_cast<double>(now) >= next_send_) continue;
            Time wait = settings_.tick;
            if (endpoint_.has_outgoing()) wait = std::clamp<Time>(static_cast<Time>(next_send_) - now, 0, wait);
            if (link_->full()) wait = settings_.tick;
            if (!link_->wait(link_->full(), wait)) return worker_interrupted;
        }
    }

    [[nodiscard]] const Stats& stats() const { return endpoint_.stats(); }
    [[nodiscard]] const Link& link() const { return *link_; }

  private:
    void begun() {
        progress_ = endpoint_.progress();
        since_ = taken_ = clock_now();
    }

    [[nodiscard]] bool over() const { return (!exchanging_ || endpoint_.finished()) && !endpoint_.waiting(); }

    // Sends a message's worth of frames, if there are any and the pace allows; busy where there was nothing to do.
    Link::Outcome speak(Time now) {
        if (!link_->holds()) fill(now);
        if (!link_->holds()) return Link::Outcome::busy;
        const auto outcome = link_->send();
        if (outcome == Link::Outcome::done) taken_ = now;
        return outcome;
    }

    void fill(Time now) {
        if (const auto marks = endpoint_.stats().marks; marks != marks_) {
            marks_ = marks;
            rate_.mark(now);
        }
        if (static_cast<double>(now) < next_send_) return;
        const double ns_per_byte = rate_.ns_per_byte(now);
        next_send_ = std::max(next_send_, static_cast<double>(now) - burst_ns);
        for (std::uint32_t frames = 0; frames < settings_.window && static_cast<double>(now) >= next_send_; ++frames) {
            std::byte* room = link_->room();
            const std::size_t length = room == nullptr ? 0 : endpoint_.outgoing(room);
            if (length == 0) return;
            link_->add(length);
            next_send_ += ns_per_byte * static_cast<double>(wire_bytes(length));
        }
    }

    // Takes what has arrived; busy where that was nothing.
    Link::Outcome receive() {
        auto all = Link::Outcome::busy;
        for (;;) {
            const auto outcome = link_->receive([this](Bytes frame) { endpoint_.incoming(frame); });
            if (outcome == Link::Outcome::busy) return all;
            if (outcome != Link::Outcome::done) return outcome;
            all = outcome;
        }
    }

    offramp_worker_settings settings_;
    std::unique_ptr<Link> link_;
    std::uint64_t journal_ = 0;
    Endpoint endpoint_;
    Rate rate_{line_bps};
    std::vector<std::int64_t> scratch_;
    std::uint32_t number_ = 0;
    bool exchanging_ = false;
    std::uint64_t marks_ = 0, progress_ = 0;
    double next_send_ = 0;
    Time since_ = 0, taken_ = 0;
};

}  // namespace

// A worker on the socket `descriptor`, with `memory` through that: both stay the caller's. Returns nothing and the reason if `plans`
// are none. It is one thread's at a time.
OFFRAMP_API void* offramp_worker_open(const offramp_worker_settings* settings, const char* plans, std::size_t size,
                                      int descriptor, std::byte* memory, char* error) {
    std::vector<Plan> read;
    std::string fault;
    if (!read_plans({reinterpret_cast<const std::byte*>(plans), size}, read, fault)) {
        say(error, fault);
        return nullptr;
    }
    std::unique_ptr<Link> link;
    if (memory == nullptr)
        link = std::make_unique<SocketLink>(descriptor);
    else
        link = std::make_unique<SharedLink>(memory, descriptor);
    return new Worker(*settings, std::move(read), std::move(link));
}

// Begins to wait for the other workers.
OFFRAMP_API void offramp_worker_start(void* worker) { static_cast<Worker*>(worker)->start(); }

// Begins an exchange of (rows of the plan, width) int32 values; both arrays stay as they are until it is over.
OFFRAMP_API void offramp_worker_begin(void* worker, std::uint32_t plan, std::uint32_t width, const void* values,
                                      std::int64_t* sums) {
    static_cast<Worker*>(worker)->begin(plan, width, static_cast<const std::byte*>(values), sums);
}

// Goes on with what began until it is over or a signal comes: an `offramp_worker_outcome`, and why.
OFFRAMP_API int offramp_worker_run(void* worker, char* error) {
    std::string said;
    const auto outcome = static_cast<Worker*>(worker)->run(said);
    say(error, said);
    return outcome;
}

// The endpoint's counters, then frames received and sent, and malformed messages: 64-bit numbers.
OFFRAMP_API void offramp_worker_stats(const void* worker, std::uint64_t* to) {
    const auto& of = *static_cast<const Worker*>(worker);
    const Stats stats = of.stats();
    std::memcpy(to, &stats, sizeof stats);
    const std::uint64_t link[] = {of.link().received, of.link().sent, of.link().malformed};
    std::memcpy(reinterpret_cast<std::byte*>(to) + sizeof stats, link, sizeof link);
}

OFFRAMP_API void offramp_worker_close(void* worker) { delete static_cast<Worker*>(worker); }
