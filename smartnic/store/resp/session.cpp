// SPDX-License-Identifier: Apache-2.0
#include "resp/session.hpp"

#include <new>

#include "resp/parse.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t words_before_proof = 10;
constexpr std::size_t record_overhead = 64;
constexpr std::size_t most_queued = most_command;

bool fits(const Command& command, std::size_t words) {
    return command.arity < 0 ? words >= static_cast<std::size_t>(-command.arity)
                             : words == static_cast<std::size_t>(command.arity);
}

// A client's input for an error message: printable and short.
std::string shown(std::string_view text) {
    std::string made(text.substr(0, 64));
    for (char& each : made)
        if (each < ' ' || each > '~' || each == '\'') each = '?';
    return made;
}

}  // namespace

RespSession::RespSession(Service& service, bool trusted) : service_(service), trusted_(trusted) {
    proved_ = trusted || service.password.empty();
}

std::string RespSession::describe() const {
    return "addr=" + peer + " db=0 name=" + name + " resp=" + std::to_string(protocol) + " multi=" + std::to_string(queueing ? static_cast<int>(queue.size()) : -1) +
           " cmd=" + last_ + " lib-name=" + library + " lib-ver=" + library_version;
}

void RespSession::reset() {
    queueing = spoilt = false;
    queue.clear();
    queued_bytes = 0;
    unwatch();
}

void RespSession::unwatch() {
    for (const std::string& key : watched) service_.unwatch(key, &changed);
    watched.clear();
    changed = false;
}

std::size_t RespSession::consume(std::string_view in, std::string& out) {
    std::size_t used = 0;
    needs_ = 1;
    while (used < in.size() && !ended_ && out.size() < long_answers) {
        const Parsed parsed = parse(in.substr(used), words_, unquoted_, proved_ ? most_command : most_before_proof,
                                      proved_ ? most_arguments : words_before_proof);
        if (parsed.fault != nullptr) {
            ++service_.totals.protocol_errors;
            Reply(out, protocol).error(std::string("ERR Protocol error: ") + parsed.fault);
            ended_ = true;
            break;
        }
        if (parsed.used == 0) {
            needs_ = parsed.needs;
            break;
        }
        used += parsed.used;
        if (!words_.empty()) run(out);
    }
    return used;
}

void RespSession::run(std::string& out) {
    Reply reply(out, protocol);
    const Command* command = find_command(words_[0]);
    ++service_.totals.commands;
    if (command == nullptr) {
        spoilt |= queueing;
        return reply.error("ERR unknown command '" + shown(words_[0]) + "'");
    }
    if (!fits(*command, words_.size())) {
        spoilt |= queueing;
        return reply.error(std::string("ERR wrong number of arguments for '") + command->name + "' command");
    }
    if (!proved_ && (command->flags & open) == 0) return reply.error("NOAUTH Authentication required.");
    last_ = command->name;
    if (queueing && (command->flags & at_once) == 0) return enqueue(*command, reply);
    execute(*command, words_, reply);
}

void RespSession::enqueue(const Command&, Reply& out) {
    std::size_t bytes = 0;
    for (const std::string_view word : words_) bytes += word.size() + sizeof(std::string);
    if (queued_bytes + bytes > most_queued) {
        spoilt = true;
        return out.error("ERR transaction is longer than 16777216 bytes");
    }
    queued_bytes += bytes;
    queue.emplace_back(words_.begin(), words_.end());
    out.simple("QUEUED");
}

void RespSession::execute(const Command& command, Arguments words, Reply& out) {
    Store& store = service_.store;
    if ((command.flags & writes) != 0) {
        std::size_t bytes = record_overhead;
        for (const std::string_view word : words) bytes += word.size() + record_overhead;
        if ((command.flags & grows) != 0 && store.full())
            return out.error("OOM command not allowed when used memory > 'maxmemory'.");
        if (!service_.loggable(bytes)) return out.error("MISCONF writes are refused: " + store.log()->fault());
    }
    Call call{service_, *this, words, out};
    ++depth_;
    try {
        command.run(call);
    } catch (const std::bad_alloc&) {
        out.error("OOM the machine has no memory for this");
    }
    if (--depth_ == 0 && store.log() != nullptr) store.log()->seal();
}

}  // namespace offramp::store::resp
