// SPDX-License-Identifier: Apache-2.0
#include "coflows.hpp"

namespace offramp {

std::unique_ptr<Coflows> Coflows::open(const protocol::Coflows& asked, std::shared_ptr<Region> region, Port& port,
                                       std::string& error) {
    const std::uint64_t bytes = std::uint64_t{asked.ranks} * sizeof(hermod::Address);
    if (asked.rank >= asked.ranks || !region->holds(asked.offset, bytes)) {
        error = "coflows: ranks outside of the memory";
        return nullptr;
    }
    std::vector<hermod::Address> ranks(asked.ranks);
    std::memcpy(ranks.data(), region->data() + asked.offset, bytes);
    const hermod::Address& own = ranks[asked.rank];
    const std::uint64_t mac = std::uint64_t{load_be16(own.mac.data())} << 32 | load_be32(own.mac.data() + 2);
    Lane* lane = port.take({rules::Protocol::hermod, mac, own.ip}, error);
    if (lane == nullptr) {
        error = "coflows: " + error;
        return nullptr;
    }
    return std::unique_ptr<Coflows>(new Coflows(asked, std::move(region), *lane, std::move(ranks)));
}

Coflows::Coflows(const protocol::Coflows& asked, std::shared_ptr<Region> region, Lane& lane,
                 std::vector<hermod::Address> ranks)
    : region_(std::move(region)),
      lane_(lane),
      endpoint_(asked.rank, std::move(ranks), static_cast<std::uint8_t>(asked.dscp), asked.retry),
      loss_(asked.loss),
      random_(asked.seed) {}

Coflows::~Coflows() {
    lane_.port().release(lane_);
}

bool Coflows::submit(std::uint64_t request, Bytes message, const Region& region, std::string& error) {
    if (&region != region_.get()) {
        error = "coflow: another memory than that of the ranks";
        return false;
    }
    return endpoint_.submit(request, message, {region_->data(), region_->size()}, error);
}

bool Coflows::poll(hermod::Time now) {
    const auto lost = [this] { return loss_ > 0 && std::uniform_real_distribution<>()(random_) < loss_; };
    const std::size_t received = lane_.receive([&](Bytes frame) {
        if (!lost()) endpoint_.incoming(frame);
    });
    endpoint_.tick(now);
    // No more wait than a burst: a more urgent coflow overtakes what has not been handed to the port.
    bool sent = false;
    while (lane_.waiting() < Lane::burst) {
        std::size_t length = 0;
        lane_.queue([&](Room to) {
            unsigned place = 0;
            length = endpoint_.outgoing(to.data(), place);
            return Lane::Made{length, place};
        });
        if (length == 0) break;
        sent = true;
    }
    return lane_.flush() > 0 || sent || received > 0;
}

}  // namespace offramp
