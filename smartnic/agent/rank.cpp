// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include <array>
#include <cstdio>

namespace offramp {
namespace {

std::string seconds(Time time) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%g s", static_cast<double>(time) / 1e9);
    return text.data();
}

}  // namespace

std::unique_ptr<Rank> Rank::open(const protocol::Rank& asked, Port& port, std::string& error) {
    const rules::Destination address{rules::Protocol::allreduce, allreduce::first_mac + asked.rank,
                                     allreduce::first_ip + asked.rank};
    Lane* lane = port.take(address, error);
    if (lane == nullptr) {
        error = "rank: " + error;
        return nullptr;
    }
    return std::unique_ptr<Rank>(new Rank(asked, *lane));
}

Rank::Rank(const protocol::Rank& asked, Lane& lane)
    : asked_(asked),
      lane_(lane),
      endpoint_({asked.rank, asked.ranks, asked.job, asked.pages, asked.segments, asked.flight, 0, asked.retry}),
      random_(asked.seed),
      lost_before_(lane.lost()) {}

Rank::~Rank() {
    lane_.port().release(lane_);
}

bool Rank::submit(const Request& request, const queue::Sum& asked, std::shared_ptr<Region> region, std::string& error) {
    if (!failure_.empty()) {
        error = failure_;
        return false;
    }
    if (!allreduce::is_type(asked.type)) {
        error = "all_reduce: type " + std::to_string(asked.type) + ": there is none";
        return false;
    }
    const allreduce::Format form(static_cast<allreduce::Type>(asked.type), asked_.ranks);
    const bool fits = asked.count <= Region::most && asked.values % 8 == 0 && asked.sums % 8 == 0 &&
                      region->holds(asked.values, asked.count * form.value_bytes()) &&
                      region->holds(asked.sums, asked.count * form.sum_bytes());
    if (!fits) {
        error = "all_reduce: a tensor outside of the memory";
        return false;
    }
    endpoint_.begin({form.type, asked.count, region->data() + asked.values, region->data() + asked.sums});
    if (requests_.empty()) watched_ = false;
    requests_.push_back({request, std::move(region)});
    return true;
}

bool Rank::poll(Time now) {
    const auto lost = [this] {
        return asked_.loss > 0 && std::uniform_real_distribution<>()(random_) < asked_.loss;
    };
    const std::size_t received = lane_.receive([&](Bytes frame) {
        ++received_;
        if (!lost()) endpoint_.incoming(frame);
    });
    endpoint_.tick(now);
    return send() || received > 0;
}

// No more wait than a burst, so that what is missing is repeated soon.
bool Rank::send() {
    bool sent = false;
    while (lane_.waiting() < Lane::burst) {
        const Bytes frames = endpoint_.outgoing(Lane::burst - lane_.waiting());
        if (frames.empty()) break;
        const std::size_t length = endpoint_.frame_bytes();
        for (std::size_t at = 0; at < frames.size(); at += length) {
            // A frame that finds no buffer is lost, as on a wire, and sent again.
            sent_ += lane_.queue([&](Room to) {
                std::memcpy(to.data(), frames.data() + at, length);
                return Lane::Made{length};
            });
        }
        sent = true;
    }
    return lane_.flush() > 0 || sent;
}

bool Rank::finished(Time now, Request& request, std::string& error) {
    if (requests_.empty()) return false;
    if (!watched_ || endpoint_.progress() != progress_) {
        watched_ = true;
        progress_ = endpoint_.progress();
        since_ = now;
    }
    if (finished_ < endpoint_.finished()) {
        ++finished_;
    } else {
        if (failure_.empty()) failure_ = endpoint_.failure();
        if (failure_.empty() && now - since_ > asked_.limit) failure_ = endpoint_.state() + " for " + seconds(asked_.limit);
        if (failure_.empty()) return false;
        error = failure_;
    }
    request = requests_.front().request;
    requests_.pop_front();
    return true;
}

void Rank::write_stats(std::byte* to) const {
    store(to, endpoint_.stats());
    const std::uint64_t link[5] = {received_, sent_, 0, 0, lane_.lost() - lost_before_};
    std::memcpy(to + sizeof(allreduce::Stats), link, sizeof link);
}

}  // namespace offramp
