// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

namespace offramp {
namespace {

std::uint64_t clock_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Puts as much of a text as there is room for.
Answer explain(const std::string& text, Room answer) {
    const std::size_t length = std::min(text.size(), answer.size());
    std::memcpy(answer.data(), text.data(), length);
    return {Status::failed, length};
}

}  // namespace

Queue::Queue(std::shared_ptr<Region> region, Descriptor bell, const QueueState& state)
    : ring_region_(std::move(region)),
      rings_(*ring_region_, state.asked.offset, state.asked.entries, state.taken, state.given),
      before_(state),
      bell_(std::move(bell)),
      again_(state.unfinished),
      requests_(state.requests) {
    before_.tables.clear();
    before_.transport.reset();
}

QueueState Queue::state() const {
    QueueState state = before_;
    state.taken = rings_.taken();
    state.given = rings_.given();
    state.requests = requests();
    state.counts.clear();
    if (transport_ != nullptr) {
        const auto counts = transport_->counts();
        state.counts.assign(counts.begin(), counts.end());
    }
    state.unfinished = pending_ ? std::optional(pending_->entry) : again_;
    return state;
}

void Queue::accuse(std::string lie) {
    lie_ = std::move(lie);
    broken_.store(true, std::memory_order_release);
}

std::byte* Queue::at(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const {
    if (region >= regions_.size() || offset % 8 != 0 || !regions_[region]->holds(offset, length)) return nullptr;
    return regions_[region]->data() + offset;
}

bool Queue::set_tables(const protocol::Tables& asked, std::string& error) {
    if (!take_tables(asked, error)) return false;
    std::erase_if(before_.tables, [&](const auto& each) { return each.function == asked.function; });
    before_.tables.push_back(asked);
    return true;
}

bool Queue::take_tables(const protocol::Tables& asked, std::string& error) {
    std::byte* base = at(asked.region, asked.offset, asked.length);
    error = "tables: memory that is not shared, or smaller than the tables";
    if (base == nullptr) return false;
    if (static_cast<Function>(asked.function) == Function::kvs_lookup) {
        const std::uint64_t buckets = asked.parameters[0] | std::uint64_t{asked.parameters[1]} << 32;
        if (!std::has_single_bit(buckets) || buckets > std::uint64_t{1} << 32 || buckets * 64 != asked.length)
            return false;
        tables_.kvs = {Bytes{base, asked.length}, buckets};
        return true;
    }
    if (static_cast<Function>(asked.function) == Function::ebs_lookup) {
        const EbsTables tables{Room{base, asked.length}, asked.parameters[0], asked.parameters[1], asked.parameters[2]};
        if (tables.size() != asked.length) return false;
        tables_.ebs = tables;
        return true;
    }
    if (static_cast<Function>(asked.function) == Function::features_select) {
        const FeatureTable table{Bytes{base, asked.length}, asked.parameters[0], asked.parameters[1]};
        if (table.size() != asked.length) return false;
        tables_.features = table;
        return true;
    }
    error = "tables: function " + std::to_string(asked.function) + " has none";
    return false;
}

bool Queue::open_transport(const protocol::Transport& asked, Port& port, std::string& error) {
    if (has_transport()) {
        error = "transport: this queue has one";
        return false;
    }
    if (asked.region >= regions_.size()) {
        error = "transport: memory that is not shared";
        return false;
    }
    transport_ = Transport::open(asked, regions_[asked.region], port, error);
    if (transport_ == nullptr) return false;
    before_.transport = asked;
    if (Transport::Counts counts; before_.counts.size() == counts.size()) {
        std::copy(before_.counts.begin(), before_.counts.end(), counts.begin());
        transport_->count_from(counts);
    }
    return true;
}

bool Queue::open_coflows(const protocol::Coflows& asked, Port& port, std::string& error) {
    if (has_transport() || asked.region >= regions_.size()) {
        error = has_transport() ? "coflows: this queue has a transport" : "coflows: memory that is not shared";
        return false;
    }
    coflows_ = Coflows::open(asked, regions_[asked.region], port, error);
    return coflows_ != nullptr;
}

bool Queue::open_rank(const protocol::Rank& asked, Port& port, std::string& error) {
    if (has_transport()) {
        error = "rank: this queue has a transport";
        return false;
    }
    rank_ = Rank::open(asked, port, error);
    return rank_ != nullptr;
}

void Queue::listen() {
    char buffer[256];
    ssize_t length = 1;
    while (length > 0) length = ::recv(bell_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (length == 0 && !broken()) accuse("queue: the client closed its bell");
}

bool Queue::poll(Compressor* compressor, Time now) {
    if (broken_.load(std::memory_order_relaxed)) return false;
    bool busy = transport_ != nullptr && transport_->poll(now);
    busy |= coflows_ != nullptr && coflows_->poll(now);
    busy |= rank_ != nullptr && rank_->poll(now);
    if (again_) {
        const Submission entry = *std::exchange(again_, std::nullopt);
        if (!handle(entry, compressor, now)) return true;
    }
    bool answered = finish_pending(now);
    answered |= finish_coflows();
    answered |= finish_sums(now);
    for (int budget = 64; budget > 0 && !pending_ && rings_.room(); --budget) {
        Submission entry;
        const auto next = rings_.take(entry);
        if (next == Rings::Next::none) break;
        busy = true;
        if (next == Rings::Next::lie) {
            accuse("queue: more submissions than it holds");
            return true;
        }
        requests_.fetch_add(1, std::memory_order_relaxed);
        if (!handle(entry, compressor, now)) return true;
        answered |= !pending_;
    }
    // A client that does not hear its bell does not need it: it looks at the ring.
    if (answered) ::send(bell_.get(), "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return busy || answered;
}

// False where the client is to be cut off.
bool Queue::handle(const Submission& entry, Compressor* compressor, Time now) {
    const std::byte* message = at(entry.message_region, entry.message_offset, entry.message_length);
    std::byte* answer = at(entry.answer_region, entry.answer_offset, entry.answer_room);
    if (message == nullptr || answer == nullptr) {
        accuse("request: memory that is not shared, or not at a multiple of 8");
        return false;
    }
    if (message < answer + entry.answer_room && answer < message + entry.message_length) {
        accuse("request: message and answer overlap");
        return false;
    }
    const std::uint64_t start = clock_ns();
    std::string text;
    const Answer result = run(entry, {message, entry.message_length}, {answer, entry.answer_room}, compressor, now, text);
    if (result.status == Status::pending) {
        if (transport_ != nullptr) pending_ = Pending{entry, now, answer};  // one at a time
        return true;
    }
    complete(entry, text.empty() ? result : explain(text, {answer, entry.answer_room}), clock_ns() - start);
    return true;
}

Answer Queue::run(const Submission& entry, Bytes message, Room answer, Compressor* compressor, Time now,
                  std::string& text) {
    const auto function = static_cast<Function>(entry.function);
    switch (function) {
        case Function::compress:
            return compressor == nullptr ? Answer{Status::unknown_function} : compressor->compress(message, answer);
        case Function::decompress:
            return compressor == nullptr ? Answer{Status::unknown_function} : compressor->decompress(message, answer);
        case Function::memory_write:
        case Function::memory_read:
            return memory(function, message, answer);
        case Function::switchgnn_start:
        case Function::switchgnn_exchange: {
            if (transport_ == nullptr || answer.size() < Transport::stats_bytes) return {Status::out_of_bounds};
            const bool begun = function == Function::switchgnn_start
                                   ? transport_->start(text)
                                   : transport_->exchange(message, *regions_[entry.message_region], text);
            return {begun ? Status::pending : Status::failed};
        }
        case Function::hermod_exchange: {
            if (coflows_ == nullptr) return {Status::out_of_bounds};
            const Region& region = *regions_[entry.message_region];
            return {coflows_->submit(entry.request, message, region, text) ? Status::pending : Status::failed};
        }
        case Function::allreduce: {
            if (rank_ == nullptr || answer.size() < Rank::stats_bytes) return {Status::out_of_bounds};
            if (message.size() != sizeof(queue::Sum)) return {Status::bad_length};
            const auto asked = load<queue::Sum>(message.data());
            if (asked.region >= regions_.size()) return {Status::out_of_bounds};
            const Rank::Request request{entry.request, now, answer};
            return {rank_->submit(request, asked, regions_[asked.region], text) ? Status::pending : Status::failed};
        }
        default:
            return offload(function, tables_, message, answer);
    }
}

// Tables are written and read where look-ups are done, one after the other: a line is seen whole or not at all.
Answer Queue::memory(Function function, Bytes message, Room answer) {
    constexpr std::size_t header = sizeof(queue::Memory);
    if (message.size() < header) return {Status::bad_length};
    const auto asked = load<queue::Memory>(message.data());
    const auto of = static_cast<Function>(asked.function);
    const std::uint64_t offset = asked.offset, length = asked.length;
    Room table;
    if (of == Function::kvs_lookup)
        table = {const_cast<std::byte*>(tables_.kvs.memory.data()), tables_.kvs.memory.size()};
    else if (of == Function::ebs_lookup)
        table = tables_.ebs.memory;
    else if (of == Function::features_select)
        table = {const_cast<std::byte*>(tables_.features.memory.data()), tables_.features.memory.size()};
    if (!inside(offset, length, table.size())) return {Status::out_of_bounds};
    if (function == Function::memory_write) {
        if (message.size() - header != length) return {Status::bad_length};
        std::memmove(table.data() + offset, message.data() + header, length);  // a client may share one for both
        return {Status::ok, 0};
    }
    if (answer.size() < length) return {Status::no_room};
    std::memmove(answer.data(), table.data() + offset, length);
    return {Status::ok, length};
}

bool Queue::finish_pending(Time now) {
    if (!pending_ || !rings_.room()) return false;
    std::string error;
    const auto outcome = transport_->outcome(now, error);
    if (outcome == Transport::Outcome::running) return false;
    Answer answer{Status::ok, Transport::stats_bytes};
    if (outcome == Transport::Outcome::done)
        transport_->write_stats(pending_->answer);
    else
        answer = explain(error, {pending_->answer, pending_->entry.answer_room});
    const Submission entry = pending_->entry;
    const auto busy = static_cast<std::uint64_t>(now - pending_->since);
    pending_.reset();
    complete(entry, answer, busy);
    return true;
}

bool Queue::finish_coflows() {
    bool any = false;
    Submission entry{};
    while (coflows_ != nullptr && rings_.room() && coflows_->finished(entry.request)) {
        complete(entry, {Status::ok, 0}, 0);
        any = true;
    }
    return any;
}

bool Queue::finish_sums(Time now) {
    bool any = false;
    Rank::Request request{};
    std::string error;
    while (rank_ != nullptr && rings_.room() && rank_->finished(now, request, error)) {
        Answer answer{Status::ok, Rank::stats_bytes};
        if (error.empty())
            rank_->write_stats(request.answer.data());
        else
            answer = explain(error, request.answer);
        Submission entry{};
        entry.request = request.number;
        complete(entry, answer, static_cast<std::uint64_t>(now - request.since));
        any = true;
    }
    return any;
}

void Queue::complete(const Submission& entry, Answer answer, std::uint64_t busy_ns) {
    rings_.put({entry.request, static_cast<std::uint32_t>(answer.status), static_cast<std::uint32_t>(answer.length),
                busy_ns, 0});
}

}  // namespace offramp
