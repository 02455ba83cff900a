// SPDX-License-Identifier: Apache-2.0
// The server's part for those who follow its store.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "connection.hpp"
#include "snapshot.hpp"

namespace offramp::store {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;  // that a follower is sent at a time
constexpr std::ptrdiff_t most_snapshots = 4;                 // sent at a time: each copies the process
constexpr std::int64_t silent_ms = 60'000;                   // after which a follower is given up

}  // namespace

bool Server::follow(const std::string& host, std::uint16_t leader_port, std::uint16_t port, std::string& error) {
    service_.port = port;
    return upstream_.lead(host, leader_port, error);
}

// Whoever has a place of this history that the feed still keeps goes on from there. All others are sent everything first, by a
// copy of the process, which has the connection for itself meanwhile.
std::string Server::begin_follower(Session& session, std::string_view id, std::uint64_t place) {
    Replication& replication = service_.replication;
    Connection& connection = *connections_.at(session.socket);
    if (replication.leader.loading) return "LOADING this store is loading what it follows";
    if (!connection.out.empty() || replication.of(session) != nullptr) return "ERR FOLLOW expects all earlier answers to be read";
    if (replication.feed == nullptr) {
        replication.feed = std::make_unique<Feed>(replication.backlog);
        store_.attach(replication.feed.get());
    }
    const Feed& feed = *replication.feed;
    Follower follower{&session};
    follower.port = session.port;
    follower.acknowledged_ms = store_.now_ms();
    if (feed.has(id, place)) {
        follower.sent = follower.acknowledged = place;
        connection.out.append("+CONTINUE\r\n");
        ++service_.totals.partial_syncs;
    } else {
        const auto& others = replication.followers;
        const auto loading = [](const Follower& each) { return each.snapshot != 0; };
        if (std::count_if(others.begin(), others.end(), loading) >= most_snapshots) return "ERR four followers load already";
        follower.sent = feed.end();
        follower.snapshot = ::fork();
        if (follower.snapshot == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const std::string answer = "+FULLRESYNC " + feed.id() + " " + std::to_string(feed.end()) + " " + std::to_string(feed.number()) + "\r\n";
            const bool done = write_all(session.socket, answer) && write_snapshot(store_, session.socket, feed.number());
            ::_exit(done ? 0 : 1);
        }
        if (follower.snapshot < 0) return std::string("ERR fork: ") + std::strerror(errno);
        ++service_.totals.full_syncs;
    }
    replication.followers.push_back(follower);
    return "";
}

// A follower that is slower than the feed's ring begins anew.
void Server::feed_followers() {
    const Feed& feed = *service_.replication.feed;
    for (Follower& each : service_.replication.followers) {
        Connection& connection = *connections_.at(each.session->socket);
        if (each.snapshot != 0 || each.sent == feed.end() || !connection.out.empty() || connection.gone) continue;
        if (each.sent < feed.begin()) {
            connection.gone = true;
        } else {
            connection.out.append(feed.from(each.sent, chunk_bytes));
            each.sent += connection.out.waiting();
        }
        mark(connection, {});
    }
}

void Server::watch_followers() {
    for (Follower& each : service_.replication.followers) {
        Connection& connection = *connections_.at(each.session->socket);
        int status = 0;
        if (each.snapshot != 0) {
            if (::waitpid(each.snapshot, &status, WNOHANG) == 0) continue;
            each.snapshot = 0;
            each.acknowledged_ms = store_.now_ms();
            connection.gone |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        }
        connection.gone |= store_.now_ms() - each.acknowledged_ms > silent_ms;
        if (connection.gone) queue(connection);
    }
}

void Server::acknowledge(Session& session, std::uint64_t place) {
    Follower* follower = service_.replication.of(session);
    if (follower == nullptr) return;
    follower->acknowledged = place;
    follower->acknowledged_ms = store_.now_ms();
    settle_waits();
}

void Server::forget_follower(Session& session) {
    const Follower* follower = service_.replication.of(session);
    if (follower == nullptr) return;
    if (follower->snapshot > 0) {
        ::kill(follower->snapshot, SIGKILL);
        ::waitpid(follower->snapshot, nullptr, 0);
    }
    service_.replication.followers.remove_if([&](const Follower& each) { return each.session == &session; });
}

// Answers WAIT where enough followers have what it waits for, or its time is over.
void Server::settle_waits() {
    const auto settled = [&](const Connection* each) {
        const Wait& wait = *each->session->wait;
        return service_.replication.reached(wait.place) >= wait.followers || (wait.until_ms != 0 && store_.now_ms() >= wait.until_ms);
    };
    std::vector<Connection*> ready;
    std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(ready), settled);
    for (Connection* each : ready) {
        std::erase(waiting_, each);
        if (!each->session->wait->silent) each->out.append(":" + std::to_string(service_.replication.reached(each->session->wait->place)) + "\r\n");
        each->session->wait.reset();
        note(*each);
        if (each->executable()) line_up(*each);
    }
}

}  // namespace offramp::store
