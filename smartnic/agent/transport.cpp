// SPDX-License-Identifier: Apache-2.0
#include "transport.hpp"

#include <cmath>

namespace offramp {

using switchgnn::Exchange;

namespace {

switchgnn::Recovery recovery(const protocol::Transport& asked) {
    return {asked.retry, asked.cap, (asked.flags & protocol::acks) != 0, (asked.flags & protocol::reupload) != 0};
}

}  // namespace

std::unique_ptr<Transport> Transport::open(const protocol::Transport& asked, std::shared_ptr<Region> region, Port& port,
                                           std::string& error) {
    if (!region->holds(asked.text_offset, asked.text_length) || !region->holds(asked.journal_offset, 8)) {
        error = "transport: plans or journal outside of the memory";
        return nullptr;
    }
    std::vector<switchgnn::Plan> plans;
    if (!switchgnn::read_plans({region->data() + asked.text_offset, asked.text_length}, plans, error)) return nullptr;
    const rules::Destination address{rules::Protocol::switchgnn, switchgnn::first_mac + asked.worker,
                                     switchgnn::first_ip + asked.worker};
    Lane* lane = port.take(address, error);
    if (lane == nullptr) {
        error = "transport: " + error;
        return nullptr;
    }
    return std::unique_ptr<Transport>(new Transport(asked, std::move(region), *lane, std::move(plans)));
}

Transport::Transport(const protocol::Transport& asked, std::shared_ptr<Region> region, Lane& lane,
                     std::vector<switchgnn::Plan> plans)
    : asked_(asked),
      region_(std::move(region)),
      lane_(lane),
      endpoint_(asked.worker, std::move(plans), recovery(asked),
                reinterpret_cast<std::uint64_t*>(region_->data() + asked.journal_offset)),
      rate_(asked.line_bps),
      random_(asked.seed),
      lost_before_(lane.lost()) {
    if (asked.flags & protocol::resume) endpoint_.resume();
}

Transport::~Transport() {
    lane_.port().release(lane_);
}

bool Transport::start(std::string& error) {
    if (active_) {
        error = "an exchange is still running";
        return false;
    }
    endpoint_.start();
    active_ = true;
    exchanging_ = watched_ = false;
    return true;
}

bool Transport::exchange(Bytes message, const Region& region, std::string& error) {
    if (active_ || message.size() != sizeof(queue::Exchange) || &region != region_.get()) {
        error = active_ ? "an exchange is still running" : "no request of an exchange";
        return false;
    }
    const auto asked = load<queue::Exchange>(message.data());
    if (asked.plan >= endpoint_.plans().size() || asked.number == 0) {
        error = "plan " + std::to_string(asked.plan) + ": there is none";
        return false;
    }
    const auto& plan = endpoint_.plans()[asked.plan];
    const std::uint64_t cells = std::uint64_t{plan.boundary} * asked.width;
    const bool fits = asked.width > 0 && asked.width <= plan.chunks * plan.chunk_lanes() && asked.sums % 8 == 0 &&
                      asked.scratch % 8 == 0 && region.holds(asked.values, cells * 4) &&
                      region.holds(asked.sums, cells * 8) &&
                      region.holds(asked.scratch, std::uint64_t{plan.shared} * asked.width * 8);
    if (!fits) {
        error = "exchange: a width or memory that does not fit the plan";
        return false;
    }
    std::byte* base = region.data();
    const Exchange exchange{asked.plan,
                            asked.width,
                            asked.number,
                            base + asked.values,
                            reinterpret_cast<std::int64_t*>(base + asked.sums),
                            reinterpret_cast<std::int64_t*>(base + asked.scratch)};
    if (!endpoint_.begin(exchange)) {
        error = "exchange: the journal is of another one";
        return false;
    }
    active_ = exchanging_ = true;
    watched_ = false;
    return true;
}

bool Transport::poll(Time now) {
    const std::size_t received = lane_.receive([this](Bytes frame) {
        ++received_;
        if (chance(asked_.loss)) return;
        endpoint_.incoming(frame);
        if (chance(asked_.duplication)) endpoint_.incoming(frame);
    });
    if (const auto marks = endpoint_.stats().marks; marks != marks_) {
        marks_ = marks;
        rate_.mark(now);
    }
    const bool spoke = send(now);
    return received > 0 || spoke;
}

// Frames are made where the device takes them from. No more wait than a burst: what is more urgent overtakes the rest.
bool Transport::send(Time now) {
    const double ns_per_byte = rate_.ns_per_byte(now);
    bool sent = false;
    while (lane_.waiting() < Lane::burst && static_cast<double>(now) >= next_send_) {
        std::size_t length = 0;
        const bool lossy = asked_.loss > 0 || asked_.duplication > 0;
        if (lossy)
            length = send_with_faults();
        else
            lane_.queue([&](Room to) { return Lane::Made{length = endpoint_.outgoing(to.data())}; });
        if (length == 0) {
            if (!endpoint_.has_outgoing()) endpoint_.tick(now);
            break;
        }
        sent = true;
        sent_ += !lossy;
        next_send_ = std::max(next_send_, static_cast<double>(now) - 50e3) +
                     ns_per_byte * static_cast<double>(switchgnn::wire_bytes(length));
        if (++in_window_ >= asked_.window) {
            in_window_ = 0;
            if (asked_.gap > 0) next_send_ = static_cast<double>(now + asked_.gap);
        }
    }
    return lane_.flush() > 0 || sent;
}

// The next frame, once, twice or not at all; its length.
std::size_t Transport::send_with_faults() {
    std::byte frame[switchgnn::most_bytes];
    const std::size_t length = endpoint_.outgoing(frame);
    for (int copies = length == 0 ? 0 : chance(asked_.duplication) ? 2 : 1; copies > 0; --copies) {
        if (chance(asked_.loss)) continue;
        lane_.queue([&](Room to) {
            std::memcpy(to.data(), frame, length);
            return Lane::Made{length};
        });
        ++sent_;
    }
    return length;
}

Transport::Outcome Transport::outcome(Time now, std::string& error) {
    if (!active_) return Outcome::none;
    if (endpoint_.finished() && !endpoint_.waiting()) {
        if (exchanging_) endpoint_.collect();
        active_ = false;
        return Outcome::done;
    }
    if (!watched_ || endpoint_.progress() != progress_) {
        watched_ = true;
        progress_ = endpoint_.progress();
        since_ = now;
    } else if (now - since_ > asked_.limit) {
        active_ = false;
        error = endpoint_.state();
        return Outcome::failed;
    }
    return Outcome::running;
}

void Transport::write_stats(std::byte* to) const {
    store(to, counts());
}

Transport::Counts Transport::counts() const {
    const std::uint64_t link[5] = {received_, sent_, 0, 0, lane_.lost() - lost_before_};
    Counts counts;
    static_assert(sizeof counts == sizeof(switchgnn::Stats) + sizeof link);
    std::memcpy(counts.data(), &endpoint_.stats(), sizeof(switchgnn::Stats));
    std::memcpy(counts.data() + sizeof(switchgnn::Stats) / 8, link, sizeof link);
    for (std::size_t at = 0; at < counts.size(); ++at) counts[at] += before_[at];
    return counts;
}

}  // namespace offramp
