// SPDX-License-Identifier: Apache-2.0
// Stores that follow this one, and the one that it follows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "feed.hpp"

namespace offramp::store {

class Session;

// WAIT: so many followers are to have everything up to a place of the feed, or a time comes; 0: never.
struct Wait {
    std::uint64_t place = 0;
    std::size_t followers = 0;
    std::int64_t until_ms = 0;
    bool silent = false;  // nobody wants the answer
};

struct Follower {
    Session* session;
    std::uint64_t sent = 0, acknowledged = 0;  // places of the feed
    std::int64_t acknowledged_ms = 0;
    std::uint16_t port = 0;                    // at which it serves
    pid_t snapshot = 0;                        // the process that sends it one; 0: it has everything up to `sent`
};

// What is known of the store that this one follows.
struct LeaderState {
    std::string host;  // empty: it follows none
    std::uint16_t port = 0;
    bool up = false, loading = false;  // loading: what is here is a part of a snapshot
    std::uint64_t place = 0;
    std::int64_t heard_ms = 0;
};

struct Replication {
    std::size_t backlog = std::size_t{16} << 20;
    std::unique_ptr<Feed> feed;  // from the first follower on
    std::list<Follower> followers;
    LeaderState leader;

    // A session follows from a place of a history on; the server answers. The reason why not, or nothing.
    std::function<std::string(Session&, std::string_view id, std::uint64_t place)> follow;
    std::function<void(Session&, std::uint64_t place)> acknowledge;
    // Follows another store, or none (port 0). The reason why not, or nothing.
    std::function<std::string(const std::string& host, std::uint16_t port)> lead;

    [[nodiscard]] Follower* of(const Session& session) {
        for (Follower& each : followers)
            if (each.session == &session) return &each;
        return nullptr;
    }
    // Followers that have everything up to a place.
    [[nodiscard]] std::size_t reached(std::uint64_t place) const {
        std::size_t count = 0;
        for (const Follower& each : followers) count += each.snapshot == 0 && each.acknowledged >= place;
        return count;
    }
};

}  // namespace offramp::store
