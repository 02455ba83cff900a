// SPDX-License-Identifier: Apache-2.0
// A connection that speaks redis' protocol.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "resp/parse.hpp"
#include "resp/reply.hpp"
#include "resp/transaction.hpp"
#include "service.hpp"

namespace offramp::store::resp {

class RespSession;

// Which answers are sent: CLIENT REPLY.
enum class Replies { on, off, skip_next, skip };

// A command under way.
struct Call {
    Service& service;
    RespSession& session;
    Arguments words;
    Reply& out;

    [[nodiscard]] Store& store() const { return service.store; }
    [[nodiscard]] std::size_t size() const { return words.size(); }
    std::string_view operator[](std::size_t i) const { return words[i]; }
};

enum Flag : unsigned {
    reads = 0,
    writes = 1,   // the log must have room
    grows = 2,    // the memory, too
    admin = 4,    // is no use of the store
    open = 8,     // before the password is shown
    at_once = 16,  // is not queued by MULTI
    alone = 32,    // is refused by MULTI
    all = 64,      // looks at every key
    moves = 128,   // gives one key's value to another
    pads = 256,    // adds bytes that nobody has sent, up to an offset
    computes = 512,  // writes a number that may be long
    listens = 1024,  // is understood by those who listen to channels
    family = 4096,   // is several, by its second word
    channel = 2048   // is about channels: clients of clusters send it to the shard that their first word hashes to
};

struct Command {
    const char* name;
    int arity;  // words with the name; negative: at least
    unsigned flags;
    void (*run)(Call&);
    int first, last, step;  // which words are keys, as redis tells it
    Verb verb = Verb::set;

    // Calls `see` for each key among the words.
    template <typename See>
    void each_key(Arguments words, See see) const {
        if (first == 0) return;
        const auto size = static_cast<int>(words.size());
        for (int i = first; i <= (last < 0 ? size + last : last) && i < size; i += step) see(words[static_cast<std::size_t>(i)]);
    }
};

// Whether a command may have so many words.
[[nodiscard]] inline bool fits(const Command& command, std::size_t words) {
    return command.arity < 0 ? words >= static_cast<std::size_t>(-command.arity) : words == static_cast<std::size_t>(command.arity);
}
[[nodiscard]] const Command* find_command(std::string_view name);
[[nodiscard]] std::span<const Command> all_commands();

class RespSession : public Session {
  public:
    // `trusted`: who is at the other end has been proved already.
    RespSession(Service& service, bool trusted);
    ~RespSession() override {
        reset();
        service_.leave(*this);
        service_.pubsub.forget(*this);
    }
    RespSession(const RespSession&) = delete;
    RespSession& operator=(const RespSession&) = delete;

    std::size_t consume(std::string_view in, Answer& out) override;
    [[nodiscard]] ClientFacts facts() const override;
    [[nodiscard]] std::size_t footprint() const override;
    void release() override;
    void message(Answer& to, std::string_view pattern, std::string_view channel, std::string_view text) const override;

    void prove() { proved_ = true; }
    void end() { ended_ = true; }
    void reset();
    void end_transaction();
    void unwatch();
    // The address by which the client has reached this server.
    [[nodiscard]] std::string host() const;

    int protocol = 2;
    std::string name, library, library_version;
    Replies replies = Replies::on;

    // MULTI: what is queued, and what is watched.
    bool queueing = false, spoilt = false;
    Transaction transaction;
    std::vector<std::string> watched;
    std::size_t watched_bytes = 0;
    bool changed = false;  // something that is watched
    bool acting = false;   // the transaction
    int slot = -1;         // of the transaction's keys, in a cluster
    bool crosses = false;  // they have several

    // What it listens to.
    std::set<std::string, std::less<>> channels, patterns;
    std::size_t listening_bytes = 0;
    [[nodiscard]] bool listening() const { return !channels.empty() || !patterns.empty(); }

    // Executes a command if the store has room for it.
    void execute(const Command& command, Arguments words, Reply& out);
    // Takes the room that a transaction needs, for which keys may be evicted; the reason where there is none.
    [[nodiscard]] std::string reserve(const Transaction& all);
    // Executes the commands of a transaction that has it.
    void execute(const Transaction& all, Reply& out);
    [[nodiscard]] Service& service() { return service_; }
    // Who is at the other end was proved before the first command.
    [[nodiscard]] bool trusted() const { return trusted_; }

  private:
    void run(Answer& out);
    // Takes back the answer to a command that nobody wants.
    void hush(Answer& out, std::uint64_t before);
    void refuse(Reply& out, std::string_view error);
    void enqueue(const Command& command, Reply& out);
    // Why the store has no room for changes; nothing where it has.
    [[nodiscard]] std::string reserve(const Need& need, bool whole = false);
    // Why another shard, or none, has all keys of a command; nothing where this one has.
    [[nodiscard]] std::string elsewhere(const Command& command, Arguments words);
    void act(const Command& command, Arguments words, Reply& out);
    void seal();

    Service& service_;
    Parser parser_;
    const Command* last_ = nullptr;
    std::string last_word_;  // its subcommand
    bool tells_ = false;     // what answers the present command is a message about channels
    bool trusted_;
};

}  // namespace offramp::store::resp
