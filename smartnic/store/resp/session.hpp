// SPDX-License-Identifier: Apache-2.0
// A connection that speaks redis' protocol.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "resp/reply.hpp"
#include "service.hpp"

namespace offramp::store::resp {

using Arguments = std::span<const std::string_view>;

class RespSession;

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
    at_once = 16  // is not queued by MULTI
};

struct Command {
    const char* name;
    int arity;  // words with the name; negative: at least
    unsigned flags;
    void (*run)(Call&);
    int first, last, step;  // which words are keys, as redis tells it
};

[[nodiscard]] const Command* find_command(std::string_view name);
[[nodiscard]] std::span<const Command> all_commands();

class RespSession : public Session {
  public:
    // `trusted`: who is at the other end has been proved already.
    RespSession(Service& service, bool trusted);
    ~RespSession() override {
        unwatch();
        service_.leave(*this);
    }
    RespSession(const RespSession&) = delete;
    RespSession& operator=(const RespSession&) = delete;

    std::size_t consume(std::string_view in, std::string& out) override;
    [[nodiscard]] std::string describe() const override;

    void prove() { proved_ = true; }
    void end() { ended_ = true; }
    void reset();
    void unwatch();

    int protocol = 2;
    std::string name, library, library_version;

    // MULTI: what is queued, and what is watched.
    bool queueing = false, spoilt = false;
    std::vector<std::vector<std::string>> queue;
    std::size_t queued_bytes = 0;
    std::vector<std::string> watched;
    bool changed = false;  // something that is watched

    void execute(const Command& command, Arguments words, Reply& out);
    [[nodiscard]] Service& service() { return service_; }
    // Who is at the other end was proved before the first command.
    [[nodiscard]] bool trusted() const { return trusted_; }

  private:
    void run(std::string& out);
    void enqueue(const Command& command, Reply& out);

    Service& service_;
    std::vector<std::string_view> words_;
    std::string unquoted_, last_;
    bool trusted_;
    int depth_ = 0;  // EXEC runs commands inside a command: their changes are one record
};

}  // namespace offramp::store::resp
