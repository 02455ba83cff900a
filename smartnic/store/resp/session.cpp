// SPDX-License-Identifier: Apache-2.0
#include "resp/session.hpp"

#include <new>

#include "foreign.hpp"
#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t words_before_proof = 10;
constexpr std::size_t most_queued = most_command;
constexpr const char* no_memory = "OOM the machine has no memory for this";

// A client's input for an error message: printable and short.
std::string shown(std::string_view text) {
    std::string printable(text.substr(0, 64));
    for (char& each : printable)
        if (each < ' ' || each > '~' || each == '\'') each = '?';
    return printable;
}

std::string unknown(const std::vector<std::string_view>& words) {
    constexpr std::size_t most = 128;
    std::string arguments;
    for (std::size_t i = 1; i < words.size() && arguments.size() < most; ++i)
        arguments += "'" + shown(words[i].substr(0, most - arguments.size())) + "' ";
    return "ERR unknown command '" + shown(words[0]) + "', with args beginning with: " + arguments;
}

}  // namespace

RespSession::RespSession(Service& service, bool trusted) : service_(service), trusted_(trusted) {
    proved_ = trusted || service.password.empty();
}

ClientFacts RespSession::facts() const {
    ClientFacts facts{name, library, library_version, last_ == nullptr ? "NULL" : last_->name, protocol};
    if (!last_word_.empty()) facts.command += "|" + last_word_;
    if (queueing) facts.queued = static_cast<int>(transaction.size()), facts.queued_bytes = transaction.footprint();
    facts.channels = channels.size();
    facts.patterns = patterns.size();
    facts.watched = watched.size();
    return facts;
}

std::size_t RespSession::footprint() const {
    return parser_.footprint() + transaction.footprint() + watched_bytes + listening_bytes;
}

void RespSession::release() {
    reset();
    parser_ = {};
}

void RespSession::reset() {
    end_transaction();
    for (const std::string& each : channels) service_.pubsub.unsubscribe(*this, each);
    for (const std::string& each : patterns) service_.pubsub.unsubscribe_pattern(*this, each);
    channels.clear();
    patterns.clear();
    listening_bytes = 0;
}

void RespSession::end_transaction() {
    queueing = spoilt = crosses = false;
    slot = -1;
    transaction.clear();
    unwatch();
}

void RespSession::unwatch() {
    for (const std::string& key : watched) service_.unwatch(key, &changed);
    watched.clear();
    watched_bytes = 0;
    changed = false;
}

std::size_t RespSession::consume(std::string_view in, Answer& out) {
    std::size_t used = 0;
    needs_ = 1;
    std::size_t words = 0;
    while (used < in.size() && !ended_ && !wait && words < turn_words && out.waiting() < long_answers) {
        const Parsed parsed = parser_.parse(in.substr(used), proved_ ? most_command : most_before_proof,
                                            proved_ ? most_arguments : words_before_proof);
        if (parsed.error != nullptr) {
            ++service_.totals.protocol_errors;
            Reply(out, protocol).error(std::string("ERR Protocol error: ") + parsed.error + (parsed.got == 0 ? "" : std::string(", got '") + parsed.got + "'"));
            ended_ = true;
            break;
        }
        if (parsed.used == 0) {
            needs_ = parsed.needs;
            break;
        }
        used += parsed.used;
        words += 1 + parser_.words().size();
        const std::uint64_t before = out.position();
        if (!parser_.words().empty()) run(out);
        if (replies != Replies::on) hush(out, before);
        parser_.trim();
    }
    return used;
}

// Answers about channels are messages, too.
void RespSession::hush(Answer& out, std::uint64_t before) {
    if (replies == Replies::skip_next) {
        replies = Replies::skip;
    } else {
        if (!tells_) out.cut(before);
        if (wait) wait->silent = true;
        if (replies == Replies::skip) replies = Replies::on;
    }
}

void RespSession::run(Answer& out) {
    Reply reply(out, protocol);
    const std::vector<std::string_view>& words = parser_.words();
    const Command* command = find_command(words[0]);
    ++service_.totals.commands;
    tells_ = command != nullptr && (command->flags & (listens | channel)) == (listens | channel);
    if (command == nullptr || !fits(*command, words.size())) {
        if (is_http(words)) {
            ++service_.totals.protocol_errors;
            return end();
        }
        return refuse(reply, command == nullptr ? unknown(words)
                                                : std::string("ERR wrong number of arguments for '") + command->name + "' command");
    }
    if (!proved_ && (command->flags & open) == 0) return refuse(reply, "NOAUTH Authentication required.");
    last_ = command;
    last_word_ = (command->flags & family) != 0 && words.size() > 1 ? lower(words[1].substr(0, 32)) : "";
    if (listening() && protocol == 2 && (command->flags & listens) == 0)
        return refuse(reply, std::string("ERR Can't execute '") + command->name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
    if ((command->flags & admin) == 0 && service_.replication.leader.loading)
        return refuse(reply, loading);
    if (service_.cluster.on() && command->first != 0)
        if (const std::string reason = elsewhere(*command, words); !reason.empty()) return refuse(reply, reason);
    if (queueing && (command->flags & at_once) == 0) return enqueue(*command, reply);
    execute(*command, words, reply);
}

void RespSession::refuse(Reply& out, std::string_view error) {
    spoilt |= queueing;
    out.error(error);
}

// As redis has it, a transaction that the store could not carry out now is refused at the first command that shows it.
void RespSession::enqueue(const Command& command, Reply& out) {
    if ((command.flags & alone) != 0) return refuse(out, "ERR Command not allowed inside a transaction");
    Need need;
    need.add(command, parser_.words(), service_.store);
    try {
        transaction.add(command, parser_.words());
        if (transaction.footprint() > most_queued) return refuse(out, "ERR transaction is longer than 16777216 bytes");
        if (const std::string error = reserve(need); !error.empty()) return refuse(out, error);
    } catch (const std::bad_alloc&) {
        return refuse(out, no_memory);
    }
    out.simple("QUEUED");
}

std::string RespSession::elsewhere(const Command& command, Arguments words) {
    const Cluster& cluster = service_.cluster;
    int first = -1;
    bool several = false;
    command.each_key(words, [&](std::string_view key) {
        const auto slot = static_cast<int>(Cluster::slot_of(key));
        several |= first >= 0 && slot != first;
        first = slot;
    });
    if (several) return cross_slot;
    if (first < 0) return "";
    if (const unsigned shard = cluster.shard_of(static_cast<unsigned>(first)); shard != cluster.self)
        return "MOVED " + std::to_string(first) + " " + host() + ":" + std::to_string(cluster.ports[shard]);
    if (queueing) crosses |= slot >= 0 && slot != first, slot = first;
    return "";
}

std::string RespSession::reserve(const Need& need, bool whole) {
    if (need.writes && service_.store.follows) return "READONLY You can't write against a read only replica.";
    if (need.grows && !service_.store.make_room(need.padding, whole)) return "OOM command not allowed when used memory > 'maxmemory'.";
    if (need.writes && !service_.loggable(need.log)) return "MISCONF writes are refused: " + service_.store.log()->fault();
    if (need.keys > 1) service_.store.require_memory(need.keys, need.bytes + need.padding);
    return "";
}

void RespSession::execute(const Command& command, Arguments words, Reply& out) {
    if ((command.flags & writes) != 0) {
        Need need;
        need.add(command, words, service_.store);
        try {
            if (const std::string error = reserve(need); !error.empty()) {
                out.error(error);
                return seal();  // of what was evicted
            }
        } catch (const std::bad_alloc&) {
            out.error(no_memory);
            return seal();
        }
    }
    act(command, words, out);
    seal();
}

std::string RespSession::reserve(const Transaction& all) {
    try {
        const Need need = all.need(service_.store);
        std::string error = reserve(need, true);
        if (error.empty() && need.grows) service_.store.require_memory(need.keys, need.bytes + need.padding);
        return error;
    } catch (const std::bad_alloc&) {
        return no_memory;
    }
}

void RespSession::execute(const Transaction& all, Reply& out) {
    out.array(all.size());
    acting = true;
    all.each([&](const Command& command, Arguments words) {
        if (out.waiting() <= most_answer) return act(command, words, out);
        // It acts all the same: a transaction is whole. Nobody could read its answer.
        Answer unread;
        Reply nowhere(unread, out.protocol());
        act(command, words, nowhere);
        out.error("ERR the answer is longer than 67108864 bytes");
    });
    acting = false;
}

void RespSession::act(const Command& command, Arguments words, Reply& out) {
    if ((command.flags & resp::all) != 0) service_.guards.seen_all(service_.seen);
    Call call{service_, *this, words, out};
    const std::uint64_t before = out.position();
    service_.verb = command.verb;
    try {
        command.run(call);
    } catch (const std::bad_alloc&) {
        out.cut(before);
        out.error(no_memory);
    }
    service_.verb = Verb::set;
}

// Ends the record of what was changed, and begins a snapshot that a transaction has asked for.
void RespSession::seal() {
    service_.store.seal();
    if (!service_.save_due) return;
    service_.save_due = false;
    service_.save_failed = !service_.save(false).empty();
}

}  // namespace offramp::store::resp
