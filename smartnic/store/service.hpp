// SPDX-License-Identifier: Apache-2.0
// Shared by the sessions of all protocols: the store, access rights, and the server's services.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "answer.hpp"
#include "cluster.hpp"
#include "guards.hpp"
#include "notify.hpp"
#include "pubsub.hpp"
#include "replication.hpp"
#include "store.hpp"

namespace offramp::store {

class Session;

// What a session tells of its client.
struct ClientFacts {
    std::string name, library, library_version, command;
    int protocol = 0, queued = -1;  // commands of a transaction; -1: there is none
    std::size_t queued_bytes = 0, channels = 0, patterns = 0, watched = 0;
};

// A connection, as long as nothing is read from any.
struct Client {
    const Session* session;
    std::string local;  // the server's address
    std::int64_t age_s, idle_s;
    std::size_t in, out, footprint;  // bytes that wait, and all that it holds
    bool closing;
};

constexpr std::size_t most_command = std::size_t{16} << 20;  // bytes of a command
constexpr std::size_t most_answer = std::size_t{64} << 20;   // bytes of one answer
constexpr std::size_t most_before_proof = std::size_t{16} << 10;
constexpr const char* version = "0.1.0";

struct Totals {
    std::uint64_t commands = 0, connections = 0, refused = 0, evicted = 0, protocol_errors = 0, full_syncs = 0, partial_syncs = 0;
    std::size_t open = 0;
    std::uint64_t bytes_in = 0, bytes_out = 0, rounds = 0;
};

struct Service {
    explicit Service(Store& store) : store(store) {}

    Store& store;
    Totals totals;
    std::string run_id;  // of this process
    std::uint16_t port = 0;  // at which redis' protocol is served
    std::string password;  // empty: nobody has to show one
    std::int64_t began_ms = 0, saved_s = 0;
    std::uint64_t next_id = 1;
    bool saving = false, save_failed = false;
    bool save_due = false;  // a transaction has asked for a snapshot, which begins behind it
    std::int64_t flush_at_ms = 0;  // memcached's flush_all with a delay; 0: none
    std::function<std::string(bool wait)> save;  // the reason why not, or nothing
    std::function<std::vector<Client>()> clients;
    std::function<void(std::uint64_t)> kill;
    std::unordered_map<std::string, std::vector<bool*>, KeyHash, std::equal_to<>> watched;  // what is set when a key changes
    Guards guards;
    PubSub pubsub;
    Notifier notifier;
    Verb verb = Verb::set;  // of the command under way
    Cluster cluster;
    Replication replication;
    std::vector<std::uint64_t> seen;  // pending changes of guarded keys that the answers under way may show

    // Whether connections may guard keys: they have proved the token, so there must be one.
    [[nodiscard]] bool guardable() const { return !password.empty(); }

    void watch(std::string_view key, bool* to) {
        watched[std::string(key)].push_back(to);
        attend();
    }
    void unwatch(const std::string& key, const bool* to) {
        const auto watchers = watched.find(key);
        if (watchers == watched.end()) return;
        std::erase(watchers->second, to);
        if (watchers->second.empty()) watched.erase(watchers);
        attend();
    }

    // False: too many keys are guarded.
    bool guard(Session& session, std::string_view key);
    void unguard(Session& session, std::string_view key);
    // The session's connection is no more.
    void leave(Session& session);

    // Compared in a time that does not depend on what is right.
    [[nodiscard]] bool accepts(std::string_view shown) const {
        unsigned char differ = shown.size() != password.size();
        for (std::size_t i = 0; i < shown.size(); ++i)
            differ |= static_cast<unsigned char>(shown[i] ^ password[password.empty() ? 0 : i % password.size()]);
        return differ == 0;
    }
    // Whether the log has room for a change of that many bytes; if not, `fault` is the reason.
    [[nodiscard]] bool loggable(std::size_t bytes) {
        return store.log() == nullptr || store.log()->reserve(bytes);
    }

    // Lets the store tell of changes as long as somebody wants to know.
    void attend() {
        if (watched.empty() && guards.empty() && !notifier.on()) {
            store.changed = nullptr;
        } else if (!store.changed) {
            store.changed = [this](const Changing& about) { change(about); };
        }
        if (guards.empty()) {
            store.looked_up = nullptr;
        } else if (!store.looked_up) {
            store.looked_up = [this](std::string_view key) { guards.seen(key, seen); };
        }
    }

  private:
    // Guards are not told of keys that end: they serve none with a time to live.
    void change(const Changing& about) {
        const auto [event, key, old, expires_ms] = about;
        if (notifier.on()) notifier.tell(pubsub, about, verb);
        if (event != Event::expiry) {
            const std::uint64_t number = event == Event::clear ? guards.clear(store.now_ms()) : guards.change(key, store.now_ms());
            if (number != 0) seen.push_back(number);
        }
        if (event == Event::clear) {
            for (const auto& [name, watchers] : watched)
                if (store.peek(name) != nullptr) set(watchers);
        } else if (const auto watchers = watched.find(key); watchers != watched.end()) {
            set(watchers->second);
        }
    }
    static void set(const std::vector<bool*>& watchers) {
        for (bool* each : watchers) *each = true;
    }
};

// One connection's protocol: bytes in, bytes out.
class Session {
  public:
    virtual ~Session() = default;
    // Executes the commands that are whole; how many bytes they took. Appends answers to `out`.
    // Stops behind a command where it has executed many or `out` has become long, amid one that has very many words, or where the
    // session ends.
    virtual std::size_t consume(std::string_view in, Answer& out) = 0;
    // Gives up what it holds: its connection is about to be closed.
    virtual void release() = 0;
    // Bytes that it holds beside what `consume` has not taken.
    [[nodiscard]] virtual std::size_t footprint() const = 0;
    // Bytes that have to be there before `consume` can do anything.
    [[nodiscard]] std::size_t needs() const { return needs_; }
    // The connection is closed when its answers are sent.
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool proved() const { return proved_; }
    [[nodiscard]] virtual ClientFacts facts() const = 0;
    // Appends a message of a channel that it listens to, by a pattern if there is one.
    virtual void message(Answer& to, std::string_view pattern, std::string_view channel, std::string_view text) const {
        (void)to, (void)pattern, (void)channel, (void)text;
    }

    std::uint64_t id = 0;
    std::string peer;       // its address
    int socket = -1;
    std::uint16_t port = 0;  // at which it serves, if it is a store that follows this one
    bool guarding = false;  // it serves keys elsewhere as well, and is told of their changes
    std::optional<Wait> wait;  // it executes nothing until its changes have reached others

  protected:
    static constexpr std::size_t long_answers = std::size_t{256} << 10;
    static constexpr std::size_t turn_words = 1024;  // of commands that `consume` executes, so that other clients have their turn
    std::size_t needs_ = 1;
    bool ended_ = false, proved_ = false;
};

inline bool Service::guard(Session& session, std::string_view key) {
    if (!guards.add(session.id, key)) return false;
    session.guarding = true;
    attend();
    return true;
}

inline void Service::unguard(Session& session, std::string_view key) {
    guards.remove(session.id, key);
}

inline void Service::leave(Session& session) {
    if (!session.guarding) return;
    guards.leave(session.id);
    attend();
}

}  // namespace offramp::store
