// SPDX-License-Identifier: Apache-2.0
#include "hermod/endpoint.hpp"

#include <algorithm>

namespace offramp::hermod {
namespace {

constexpr std::size_t most_early = 1 << 16, most_runs = 32, most_keys = 16;
constexpr std::uint32_t most_transfers = 1 << 16;

}  // namespace

bool Endpoint::submit(std::uint64_t request, Bytes message, Room memory, std::string& error) {
    queue::Coflow asked{};
    if (message.size() >= sizeof asked) asked = load<queue::Coflow>(message.data());
    const std::uint64_t transfers = std::uint64_t{asked.outgoing} + asked.incoming + asked.pieces;
    if (message.size() < sizeof asked || asked.keys > most_keys || transfers > most_transfers || asked.dscp > 63 ||
        message.size() != sizeof asked + 8 * asked.keys + transfers * sizeof(queue::Transfer)) {
        error = "coflow: no request";
        return false;
    }
    auto coflow = std::make_unique<Coflow>();
    const std::byte* at = message.data() + sizeof asked;
    for (unsigned i = 0; i < asked.keys; ++i, at += 8) coflow->key.push_back(load<std::int64_t>(at));
    coflow->number = submitted_++;
    coflow->in_order = asked.in_order != 0;
    coflow->dscp = asked.dscp;
    coflow->place = asked.priority;
    coflow->request = request;
    if (!take(asked, at, memory, *coflow, error)) {
        std::erase_if(out_, [&](const auto& each) { return each.second.coflow == coflow.get(); });
        std::erase_if(in_, [&](const auto& each) { return each.second.coflow == coflow.get(); });
        return false;
    }
    Coflow& kept = *coflow;
    coflows_.emplace(kept.number, std::move(coflow));
    for (auto& [route, incoming] : in_)
        if (incoming.coflow == &kept) say(Kind::ready, route.first, route.second, 0, incoming.size, incoming.size);
    scheduler_.add(kept);
    if (kept.open == 0) over(kept);
    return true;
}

bool Endpoint::take(const queue::Coflow& asked, const std::byte* at, Room memory, Coflow& coflow, std::string& error) {
    std::map<std::uint32_t, std::uint64_t> cut;  // up to where the pieces of each peer go
    for (std::uint32_t i = 0; i < asked.outgoing + asked.incoming; ++i, at += sizeof(queue::Transfer)) {
        const auto transfer = load<queue::Transfer>(at);
        const Route route{transfer.peer, asked.message};
        const bool out = i < asked.outgoing;
        if (transfer.peer >= ranks_.size() || transfer.peer == rank_ || transfer.length == 0 ||
            !inside(transfer.offset, transfer.length, memory.size()) || (out ? out_.count(route) : in_.count(route))) {
            error = "coflow: a peer that is none, memory that is not shared, or a message number in use";
            return false;
        }
        std::byte* data = memory.data() + transfer.offset;
        if (out) {
            Outgoing& outgoing = out_[route];
            outgoing = {transfer.peer, asked.message, data, transfer.length, &coflow};
            outgoing.ready = early_.erase(route) != 0;
            if (!coflow.in_order) coflow.pieces.push_back({&outgoing, 0, transfer.length});
        } else {
            const std::size_t cells = (transfer.length + cell - 1) / cell;
            in_[route] = {data, transfer.length, transfer.length, std::vector<std::uint8_t>(cells), &coflow, false};
        }
        ++coflow.open;
    }
    for (std::uint32_t i = 0; i < asked.pieces; ++i, at += sizeof(queue::Transfer)) {
        const auto piece = load<queue::Transfer>(at);
        const auto transfer = out_.find({piece.peer, asked.message});
        const bool known = coflow.in_order && transfer != out_.end() && transfer->second.coflow == &coflow;
        const std::uint64_t size = known ? transfer->second.size : 0, stop = piece.offset + piece.length;
        if (!known || piece.length == 0 || piece.offset != cut[piece.peer] || piece.length > size - piece.offset ||
            (stop % cell != 0 && stop != size)) {
            error = "coflow: pieces that are not the transfers, or do not end at multiples of 1408";
            return false;
        }
        cut[piece.peer] = stop;
        coflow.pieces.push_back({&transfer->second, piece.offset, stop});
    }
    for (auto& [route, outgoing] : out_)
        if (outgoing.coflow == &coflow && coflow.in_order && cut[route.first] != outgoing.size) {
            error = "coflow: its pieces are not its transfers";
            return false;
        }
    return true;
}

void Endpoint::incoming(Bytes frame) {
    Packet packet;
    if (!parse(frame, packet)) {
        ++stats_.foreign;
    } else if (packet.rank >= ranks_.size() || packet.rank == rank_) {
        ++stats_.rejected;
    } else {
        ++stats_.received;
        if (packet.kind == Kind::data)
            take_data(packet);
        else if (packet.kind == Kind::ready)
            take_ready(packet);
        else
            take_done(packet);
    }
}

void Endpoint::take_data(const Packet& packet) {
    const Route route{packet.rank, packet.message};
    const auto at = in_.find(route);
    if (at == in_.end()) {  // nobody sends before READY: it was here, and DONE got lost
        ++stats_.duplicates;
        say(Kind::done, route.first, route.second, 0, packet.total, packet.total);
        return;
    }
    Incoming& incoming = at->second;
    const std::uint64_t stop = std::min(packet.start + cell, incoming.size);
    if (packet.total != incoming.size || packet.start % cell != 0 || packet.stop != stop || packet.start >= stop) {
        ++stats_.rejected;
        return;
    }
    std::uint8_t& there = incoming.there[packet.start / cell];
    if (there) {
        ++stats_.duplicates;
        return;
    }
    std::memcpy(incoming.data + packet.start, packet.payload, stop - packet.start);
    there = 1;
    incoming.idle = false;
    incoming.missing -= stop - packet.start;
    if (incoming.missing != 0) return;
    say(Kind::done, route.first, route.second, 0, incoming.size, incoming.size);
    Coflow& coflow = *incoming.coflow;
    in_.erase(at);
    over(coflow);
}

void Endpoint::take_ready(const Packet& packet) {
    const Route route{packet.rank, packet.message};
    const auto at = out_.find(route);
    if (at == out_.end()) {
        if (early_.size() < most_early) early_.insert(route);
        return;
    }
    Outgoing& outgoing = at->second;
    if (packet.total != outgoing.size || packet.start % cell != 0) {
        ++stats_.rejected;
        return;
    }
    outgoing.idle = false;
    if (!outgoing.ready) {
        outgoing.ready = true;
        return;
    }
    // Pieces sent before that have not arrived; those queued again are on their way already.
    const std::uint64_t stop = std::min(packet.stop, outgoing.sent);
    if (packet.start >= stop || outgoing.repeats >= most_runs) return;
    ++outgoing.repeats;
    ++stats_.repeated;
    outgoing.coflow->pieces.push_front({&outgoing, packet.start, stop, true});
    scheduler_.add(*outgoing.coflow);
}

void Endpoint::take_done(const Packet& packet) {
    const auto at = out_.find({packet.rank, packet.message});
    if (at == out_.end() || at->second.sent != at->second.size) {
        ++stats_.duplicates;
        return;
    }
    Coflow& coflow = *at->second.coflow;
    std::erase_if(coflow.pieces, [&](const Piece& piece) { return piece.outgoing == &at->second; });
    if (coflow.pieces.empty()) scheduler_.remove(coflow);
    out_.erase(at);
    over(coflow);
}

// A transfer is over, or there was none.
void Endpoint::over(Coflow& coflow) {
    if (coflow.open > 0) --coflow.open;
    if (coflow.open > 0) return;
    finished_.push_back(coflow.request);
    scheduler_.remove(coflow);
    coflows_.erase(coflow.number);
}

bool Endpoint::finished(std::uint64_t& request) {
    if (finished_.empty()) return false;
    request = finished_.front();
    finished_.pop_front();
    return true;
}

std::size_t Endpoint::outgoing(std::byte* frame, unsigned& place) {
    if (!control_.empty()) {
        const auto [peer, packet] = control_.front();
        control_.pop_front();
        place = 0;
        ++stats_.sent;
        return build(frame, ranks_[rank_], ranks_[peer], control_dscp_, packet);
    }
    const auto choice = scheduler_.next();
    if (!choice) return 0;
    const Piece& piece = choice.piece();
    Outgoing& outgoing = *piece.outgoing;
    Packet packet;
    packet.rank = static_cast<std::uint16_t>(rank_);
    packet.message = outgoing.message;
    packet.start = piece.start;
    packet.stop = std::min(piece.stop, piece.start + cell);
    packet.total = outgoing.size;
    packet.payload = outgoing.data + piece.start;
    place = choice.coflow->place;
    const std::size_t length =
        build(frame, ranks_[rank_], ranks_[outgoing.peer], choice.coflow->dscp, packet);
    outgoing.sent = std::max(outgoing.sent, packet.stop);
    outgoing.idle = false;
    if (piece.again && packet.stop == piece.stop) --outgoing.repeats;
    ++stats_.sent;
    scheduler_.sent(choice, packet.stop - packet.start);
    return length;
}

// Pieces without progress since the last look are asked for, or announced, once more.
void Endpoint::tick(Time now) {
    if (now < next_look_) return;
    next_look_ = now + retry_;
    for (auto& [route, incoming] : in_) {
        if (incoming.idle) say_missing(route, incoming);
        incoming.idle = true;
    }
    for (auto& [route, outgoing] : out_) {
        if (outgoing.idle && outgoing.sent == outgoing.size && outgoing.repeats == 0) {
            ++outgoing.repeats;
            ++stats_.repeated;
            outgoing.coflow->pieces.push_front({&outgoing, (outgoing.size - 1) / cell * cell, outgoing.size, true});
            scheduler_.add(*outgoing.coflow);
        }
        outgoing.idle = true;
    }
}

void Endpoint::say(Kind kind, std::uint32_t peer, std::uint32_t message, std::uint64_t start, std::uint64_t stop,
                   std::uint64_t total) {
    control_.push_back({peer, {kind, static_cast<std::uint16_t>(rank_), message, start, stop, total, nullptr}});
}

void Endpoint::say_missing(const Route& route, const Incoming& incoming) {
    std::size_t runs = 0;
    for (std::size_t at = 0; at < incoming.there.size() && runs < most_runs; ++runs) {
        while (at < incoming.there.size() && incoming.there[at]) ++at;
        if (at == incoming.there.size()) break;
        const std::size_t start = at;
        while (at < incoming.there.size() && !incoming.there[at]) ++at;
        say(Kind::ready, route.first, route.second, start * cell, std::min<std::uint64_t>(at * cell, incoming.size),
            incoming.size);
    }
}

}  // namespace offramp::hermod
