// SPDX-License-Identifier: Apache-2.0
// A server's connection: its session, and the bytes on their way.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "server.hpp"

namespace offramp::store {

struct Mark {
    std::uint64_t end;
    std::uint64_t number;                // of the log's record
    std::vector<std::uint64_t> changes;  // pending ones of guarded keys
};

constexpr std::size_t kept_bytes = std::size_t{16} << 10;  // of a buffer that a connection no longer needs

// Gives up the first bytes of a buffer, and memory that the rest does not need.
inline void drop_front(std::string& buffer, std::size_t bytes) {
    buffer.erase(0, bytes);
    if (buffer.capacity() > kept_bytes && buffer.size() < buffer.capacity() / 4) buffer.shrink_to_fit();
}

struct Server::Connection {
    Descriptor socket;
    std::unique_ptr<Session> session;
    std::string in;           // commands that are not executed, mostly one that is not whole
    Answer out;
    std::uint64_t settled_end = 0;  // up to where `out` may leave
    std::vector<Mark> marks;  // answers that wait until a change is durable
    std::int64_t since_ms = 0, heard_ms = 0;
    std::size_t footprint = 0;  // as of the last `account`
    bool queued = false, held = false;
    bool lined_up = false;   // for a turn
    bool readable = false;   // in it
    bool served = false;     // it has sent a command that was whole
    unsigned short_requests = 0;  // the last so many were
    bool deaf = false;       // nothing is read: answers wait, or the peer has said all
    bool finishing = false;  // the peer has said all
    bool gone = false;       // nothing can be sent any more

    // Notes which changes the answers so far may have seen. A guard's own wait for no guard.
    void mark(std::uint64_t number, const std::vector<std::uint64_t>& seen) {
        const std::vector<std::uint64_t>& changes = session->guarding ? std::vector<std::uint64_t>() : seen;
        if (marks.empty() || marks.back().number != number || marks.back().changes != changes)
            marks.push_back({out.position(), number, changes});
        else
            marks.back().end = out.position();
    }
    // Whether all that it has sent is short requests, as far as is known.
    [[nodiscard]] bool brief() const { return in.empty() && (short_requests > 0 || !served); }
    // Whether it has commands that it can execute now.
    [[nodiscard]] bool executable() const {
        return !in.empty() && in.size() >= session->needs() && !session->ended() && !session->wait && !gone;
    }
    // Up to where `out` may leave.
    std::uint64_t settled(std::uint64_t durable, const Guards& guards) {
        const auto may_leave = [&](const Mark& mark) {
            return mark.number <= durable && std::none_of(mark.changes.begin(), mark.changes.end(),
                                                          [&](std::uint64_t change) { return guards.pending(change); });
        };
        settled_end = std::max(settled_end, out.sent());
        auto each = marks.begin();
        for (; each != marks.end() && may_leave(*each); ++each) settled_end = each->end;
        marks.erase(marks.begin(), each);
        return settled_end;
    }
};

}  // namespace offramp::store
