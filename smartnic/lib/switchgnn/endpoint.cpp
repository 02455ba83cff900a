// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/endpoint.hpp"

#include <algorithm>
#include <cstddef>

namespace offramp::switchgnn {
namespace {

constexpr std::size_t most_early = 1 << 16;  // frames; those beyond count as lost
constexpr std::size_t most_shown = 5;        // missing vertices that an error names
constexpr Time soft = 4;                     // repeats that cost the switch little come this much earlier than FETCH

}  // namespace

Endpoint::Endpoint(std::uint32_t worker, std::vector<Plan> plans, Recovery recovery, std::uint64_t* journal)
    : worker_(worker),
      builder_(worker),
      plans_(std::move(plans)),
      recovery_(recovery),
      journal_(journal),
      soft_(recovery.timeout / soft, recovery.cap / soft),
      hard_(recovery.timeout, recovery.cap) {
}

void Endpoint::resume() {
    round_ = Journal::of(*journal_).round;
    resumed_ = true;
}

void Endpoint::start() {
    if (round_ == 0) finish_round();
}

bool Endpoint::begin(const Exchange& exchange) {
    const Journal journal = Journal::of(*journal_);
    const bool again = journal.exchange == exchange.number % Journal::exchanges;
    const std::size_t blocks = plans_[exchange.plan].blocks.size();
    if (resumed_ && ((again && journal.finished > blocks) || (!again && (journal.waiting || journal.finished != 0))))
        return false;
    exchange_ = exchange;
    next_ = 0;
    for (std::size_t chunk = 0; chunk < ahead_.size(); ++chunk)
        for (; ahead_[chunk] > 0; --ahead_[chunk]) count(stats_.down, 0, static_cast<std::uint8_t>(chunk), true);
    const bool goes_on = resumed_ && again;
    resumed_ = false;
    complete_ = goes_on && journal.complete;
    running_ = !complete_;
    if (complete_) return true;
    if (goes_on) next_ = journal.finished;
    if (goes_on && journal.waiting) {
        // The sums of this round are there; its features must stay answerable until GO.
        if (next_ > 0) transmit(next_ - 1);
        finish_round();
    } else {
        note();
        if (!waiting_) next_block();
    }
    return true;
}

void Endpoint::incoming(Bytes frame) {
    Packet packet;
    const Parsed parsed = parse(frame, packet);
    const bool data = frame.size() >= data_bytes;
    count(stats_.down, frame.size(), 0, false);
    if (data) {  // also of what is refused
        const auto chunk = std::to_integer<std::uint8_t>(frame[prefix_bytes + 13]);
        if (finished())
            ++ahead_[chunk];
        else
            count(stats_.down, 0, chunk, true);
    }
    if (parsed != Parsed::packet) {
        ++(parsed == Parsed::foreign ? stats_.foreign : stats_.truncated);
        return;
    }
    if (packet.kind == Kind::done)
        take_go(packet);
    else
        take_round(packet, frame);
}

void Endpoint::take_go(const Packet& packet) {
    if (packet.src != no_id) {
        ++stats_.foreign;
        return;
    }
    // No round ends without this worker's DONE: a GO that skips one is another job's, or this worker was restarted.
    const std::uint16_t expected = next_round(round_);
    if (is_newer(packet.round, expected)) {
        ++stats_.rejected;
        if (waiting_) {
            strayed_ = true;
            stray_round_ = packet.round;
        }
    } else if (waiting_ && packet.round == expected) {
        enter(expected);
    } else {
        ++stats_.duplicates;
    }
}

void Endpoint::take_round(const Packet& packet, Bytes frame) {
    // Nothing of a round can leave the switch before GO did: it may only have been overtaken.
    if (waiting_ && packet.round == next_round(round_)) enter(packet.round);
    bool current = packet.round == round_;
    // The sums are here, but others may still ask for features.
    if (waiting_) current = current && (packet.kind == Kind::fetch || packet.kind == Kind::ack);
    if (!current) {
        ++stats_.stale;
        return;
    }
    if (reception_ || waiting_) {
        serve(packet);
    } else if (early_.size() < most_early) {
        auto& kept = early_.emplace_back();
        std::copy_n(frame.begin(), std::min(frame.size(), kept.size()), kept.begin());
    }
}

void Endpoint::serve(const Packet& packet) {
    switch (packet.kind) {
        case Kind::fetch:
            if (transmitting_) answer(packet);
            break;
        case Kind::ack:
            if (transmitting_) {
                stats_.marks += packet.ecn;
                progress_ += acknowledge(packet);
            }
            break;
        case Kind::resend:
            unanswered_ -= unanswered_ != 0;
            [[fallthrough]];
        case Kind::data:
            if (reception_) {
                progress_ += reception_->accept(packet);
                if (recovery_.acks) acknowledge_news();
                if (reception_->complete()) complete_round();
            }
            break;
        case Kind::done:
            break;
    }
}

// Tells the neighbours of what was completed that their features have come.
void Endpoint::acknowledge_news() {
    packets_.clear();
    reception_->finished_since(packets_);
    for (auto& ack : packets_) {
        ack.block = block_id_;
        ack.round = round_;
        replies_.push_back({ack, {}});
    }
}

// RESEND for a FETCH of this round whose vertex is here.
void Endpoint::answer(const Packet& fetch) {
    const auto vertex = block().vertex_ids.find(fetch.dst);
    if (vertex == Ids::none || fetch.block != block().id || fetch.chunk >= plan().chunks) {
        ++stats_.rejected;
        return;
    }
    ++stats_.resends;
    Packet packet;
    packet.kind = Kind::resend;
    packet.src = fetch.dst;
    packet.dst = fetch.src;
    packet.block = fetch.block;
    packet.count = 1;
    packet.chunk = fetch.chunk;
    packet.segments = plan().segments_of(exchange_.width, fetch.chunk);
    packet.round = round_;
    replies_.push_back({packet, {vertex, fetch.chunk}});
}

bool Endpoint::acknowledge(const Packet& ack) {
    const auto remote = block().readers->ids.find(ack.src);
    const std::uint32_t chunks = plan().chunks;
    if (remote == Ids::none || ack.block != block().id || ack.chunk >= chunks) return false;
    bool news = false;
    for (std::size_t e = block().readers->indptr[remote]; e < block().readers->indptr[remote + 1]; ++e) {
        news |= acked_[e * chunks + ack.chunk] == 0;
        acked_[e * chunks + ack.chunk] = 1;
    }
    return news;
}

std::size_t Endpoint::outgoing(std::byte* frame) {
    Packet packet;
    std::size_t length = 0;
    if (reply_at_ < replies_.size()) {
        const Reply& reply = replies_[reply_at_];
        packet = reply.packet;
        length = builder_.build(frame, packet);
        if (packet.kind == Kind::resend) payload(frame, reply.of);
        if (++reply_at_ == replies_.size()) {
            replies_.clear();
            reply_at_ = 0;
        }
    } else if (upload_at_ < uploads_.size()) {
        const Upload of = uploads_[upload_at_++];
        packet.src = block().vertices[of.vertex];
        packet.block = block_id_;
        packet.count = static_cast<std::uint16_t>(block().fan_out[of.vertex]);
        packet.chunk = static_cast<std::uint8_t>(of.chunk);
        packet.segments = plan().segments_of(exchange_.width, of.chunk);
        packet.round = round_;
        length = builder_.build(frame, packet);
        payload(frame, of);
    } else {
        first_pass_ = false;
        if (control_.empty()) return 0;
        packet = control_.front();
        control_.erase(control_.begin());
        length = builder_.build(frame, packet);
    }
    count(stats_.up, length, packet.chunk, length >= data_bytes);
    return length;
}

void Endpoint::tick(Time now) {
    if (progress_ != timed_ || first_pass_) {
        timed_ = progress_;
        repeats_ = 0;
        soft_.restart();
        hard_.restart();
    }
    const bool repeat = soft_.fires(now), fetch = hard_.fires(now);
    if (repeat) {
        say_done();
        repeats_ = std::min(repeats_ + 1, remembered);
    }
    if (!replies_.empty() || !transmitting_ || !reception_) return;  // asked before, or nothing is missing
    if (fetch) {
        uploads_.clear();  // to repeat them has not helped
        upload_at_ = 0;
        unanswered_ = 0;
        fetch_missing(true);
        return;
    }
    if (repeat && recovery_.reupload && upload_at_ == uploads_.size()) upload_silent();
    if (fetching_ && 2 * unanswered_ <= fetches) fetch_missing(false);
}

void Endpoint::fetch_missing(bool anew) {
    packets_.clear();
    reception_->missing(packets_, fetches - unanswered_, anew);
    fetching_ = !packets_.empty();
    unanswered_ += packets_.size();
    stats_.fetches += packets_.size();
    for (auto& packet : packets_) {
        packet.block = block_id_;
        packet.round = round_;
        replies_.push_back({packet, {}});
    }
}

// DONE again, of this round while GO does not come, and of the one before. Repeats change nothing, unless the switch
// has lost its registers: then the rounds go on from there. It may have taken up an older round from a DONE that was
// long on its way; so what does not help goes back further each time.
void Endpoint::say_done() {
    if (!control_.empty()) return;
    auto rounds = std::min<std::size_t>(waiting_ ? 2 : 1, said_.size());
    for (auto i = repeats_; i > 1 && rounds < said_.size(); --i) rounds = std::min(2 * rounds, said_.size());
    control_.assign(said_.end() - static_cast<std::ptrdiff_t>(rounds), said_.end());
}

void Endpoint::enter(std::uint16_t round) {
    strayed_ = false;
    round_ = round;
    waiting_ = false;
    ++progress_;
    control_.clear();
    replies_.clear();
    reply_at_ = 0;
    transmitting_ = false;
    note();
    if (running_ && next_ < blocks()) next_block();
}

void Endpoint::next_block() {
    if (next_ >= blocks()) return;
    const Sums sums{exchange_.scratch, exchange_.sums, exchange_.width, plan().chunk_lanes()};
    transmit(next_++);
    fetching_ = false;
    unanswered_ = 0;
    reception_ = std::make_unique<Reception>(block(), plan(), sums, stats_, recovery_.acks);
    upload_all();
    auto early = std::move(early_);
    early_.clear();
    for (const auto& frame : early) {
        Packet packet;
        if (parse(frame, packet) == Parsed::packet && packet.round == round_) serve(packet);
    }
    check_complete();
}

// Answers features of this block from now on.
void Endpoint::transmit(std::size_t number) {
    current_ = number;
    block_id_ = block().id;
    acked_.assign(block().readers->locals.size() * plan().chunks, 0);
    transmitting_ = true;
}

// Every vertex and chunk, in upload order.
void Endpoint::upload_all() {
    uploads_.clear();
    upload_at_ = 0;
    for (const auto vertex : block().order)
        for (std::uint32_t c = 0; c < plan().chunks; ++c) uploads_.push_back({vertex, c});
    first_pass_ = true;
}

// Repeats those that no neighbour has acknowledged.
void Endpoint::upload_silent() {
    const std::uint32_t chunks = plan().chunks;
    std::vector<std::uint8_t> acked(block().vertices.size() * chunks);
    for (std::size_t e = 0; e < block().readers->locals.size(); ++e)
        for (std::uint32_t c = 0; c < chunks; ++c)
            acked[block().readers->locals[e] * chunks + c] |= acked_[e * chunks + c];
    uploads_.clear();
    upload_at_ = 0;
    for (const auto vertex : block().order)
        for (std::uint32_t c = 0; c < chunks; ++c)
            if (!acked[vertex * chunks + c]) uploads_.push_back({vertex, c});
    stats_.reuploads += uploads_.size();
}

void Endpoint::check_complete() {
    if (reception_ && reception_->complete()) complete_round();
}

// The sums may be complete before the last upload has left: other workers still need it.
void Endpoint::complete_round() {
    reception_.reset();
    ++stats_.rounds;
    finish_round();
}

void Endpoint::finish_round() {
    waiting_ = true;
    early_.clear();
    Packet done{};
    done.kind = Kind::done;
    done.src = worker_;
    done.dst = 0;
    done.block = block_id_;
    done.round = round_;
    if (said_.size() == remembered) said_.pop_front();
    said_.push_back(done);
    control_.assign(1, done);
    note();
}

void Endpoint::note() {
    const auto finished = running_ ? next_ - (reception_ ? 1 : 0) : 0;
    const Journal journal{round_, waiting_, complete_, static_cast<std::uint16_t>(exchange_.number),
                          static_cast<std::uint32_t>(finished)};
    std::atomic_ref<std::uint64_t>(*journal_).store(journal.word(), std::memory_order_release);
}

void Endpoint::count(LinkCounts& link, std::size_t length, std::uint8_t chunk, bool payload) {
    if (length != 0) {
        ++link.packets;
        link.data_packets += length >= data_bytes;
        link.wire_bytes += wire_bytes(length);
    }
    const std::uint64_t step = payload ? plan().chunk_lanes() : 0;
    if (payload && exchange_.width > chunk * step)
        link.payload_bytes += 4 * std::min<std::uint64_t>(exchange_.width - chunk * step, step);
}

std::string Endpoint::state() const {
    const std::string where = "block " + std::to_string(block_id_) + ", round " + std::to_string(round_);
    if (reception_) {
        const Numbers missing = reception_->missing_vertices();
        std::string some;
        for (std::size_t i = 0; i < std::min(missing.size(), most_shown); ++i)
            some += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
        if (missing.size() > most_shown) some += ", …";
        return where + ": " + std::to_string(missing.size()) + " of " + std::to_string(block().vertices.size()) +
               " results are missing (of vertices " + some + ")";
    }
    if (strayed_)
        return "round " + std::to_string(round_) + ": the switch is in round " + std::to_string(stray_round_) +
               ", so this worker was restarted, or the switch's program was not pushed anew for this job";
    if (round_ == 0) return "round 0: no GO, so not every worker has joined";
    return where + ": no GO, so not every worker has finished the round";
}

}  // namespace offramp::switchgnn
