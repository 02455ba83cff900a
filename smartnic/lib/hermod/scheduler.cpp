// SPDX-License-Identifier: Apache-2.0
#include "hermod/scheduler.hpp"

#include <algorithm>
#include <tuple>

namespace offramp::hermod {

void Scheduler::add(Coflow& coflow) {
    const auto before = [](const Coflow* a, const Coflow* b) {
        return std::tie(a->key, a->number) < std::tie(b->key, b->number);
    };
    if (coflow.pieces.empty() || std::find(coflows_.begin(), coflows_.end(), &coflow) != coflows_.end()) return;
    coflows_.insert(std::upper_bound(coflows_.begin(), coflows_.end(), &coflow, before), &coflow);
}

Scheduler::Choice Scheduler::next(const std::vector<Lane>& blocked) {
    busy_.clear();
    for (Coflow* coflow : coflows_) {
        const std::size_t end = coflow->in_order ? 1 : coflow->pieces.size();
        for (std::size_t place = 0; place < end; ++place) {
            const Outgoing& outgoing = *coflow->pieces[place].outgoing;
            if (!outgoing.ready || std::find(busy_.begin(), busy_.end(), outgoing.peer) != busy_.end()) continue;
            if (std::find(blocked.begin(), blocked.end(), Lane{outgoing.peer, coflow->dscp}) == blocked.end())
                return {coflow, place};
            busy_.push_back(outgoing.peer);
        }
    }
    return {};
}

void Scheduler::sent(const Choice& choice, std::uint64_t count) {
    auto& pieces = choice.coflow->pieces;
    const auto at = pieces.begin() + static_cast<std::ptrdiff_t>(choice.place);
    at->start += count;
    if (at->start == at->stop) {
        pieces.erase(at);
        if (pieces.empty()) remove(*choice.coflow);
    } else if (!choice.coflow->in_order && pieces.size() > 1) {
        const Piece piece = *at;
        pieces.erase(at);
        pieces.push_back(piece);
    }
}

void Scheduler::remove(const Coflow& coflow) {
    std::erase(coflows_, &coflow);
}

}  // namespace offramp::hermod
