// SPDX-License-Identifier: Apache-2.0
// Commands of stores that follow others, and on them.
#include "resp/commands.hpp"

namespace offramp::store::resp {

// REPLICAOF address port, or NO ONE.
void replicaof(Call& call) {
    std::uint16_t port = 0;
    const bool none = same_word(call[1], "NO") && same_word(call[2], "ONE");
    if (!none && (!parse_number(call[2], port) || port == 0)) return call.out.error("ERR Invalid master port");
    const std::string error = call.service.replication.lead(none ? "" : std::string(call[1]), port);
    error.empty() ? call.out.ok() : call.out.error(error);
}

// REPLCONF name value...: what a store that follows this one says of itself. ACK has no answer.
void replconf(Call& call) {
    std::uint64_t place = 0;
    if (same_word(call[1], "ACK")) {
        if (call.size() == 3 && parse_number(call[2], place)) call.service.replication.acknowledge(call.session, place);
        return;
    }
    for (std::size_t i = 1; i + 1 < call.size(); i += 2) {
        if (same_word(call[i], "LISTENING-PORT") && parse_number(call[i + 1], call.session.port)) continue;
        if (same_word(call[i], "RUN-ID")) {
            if (call[i + 1] != call.service.run_id) continue;
            return call.out.error("ERR a store cannot follow itself");
        }
        return call.out.error(bad_syntax);
    }
    call.out.ok();
}

// FOLLOW history place: from now on this connection carries the records of changes behind that place, after CONTINUE; or a snapshot and
// the records behind it, after FULLRESYNC history place number.
void follow(Call& call) {
    std::uint64_t place = 0;
    if (!parse_number(call[2], place)) return call.out.error(no_integer);
    const std::string error = call.service.replication.follow(call.session, call[1], place);
    if (!error.empty()) call.out.error(error);
}

// WAIT followers milliseconds: how many followers have all changes up to now, once they are enough or the time is over.
void wait_for(Call& call) {
    std::uint32_t followers = 0;
    std::int64_t ms = 0;
    if (!parse_number(call[1], followers)) return call.out.error(no_integer);
    if (!parse_number(call[2], ms) || ms < 0 || ms > std::int64_t{1} << 48) return call.out.error("ERR timeout is not an integer or out of range");
    if (call.store().follows) return call.out.error("ERR WAIT cannot be used with replica instances.");
    const Replication& replication = call.service.replication;
    const std::uint64_t place = replication.feed == nullptr ? 0 : replication.feed->end();
    if (const std::size_t reached = replication.reached(place); call.session.acting || reached >= followers)
        return call.out.integer(static_cast<std::int64_t>(reached));
    call.session.wait = Wait{place, followers, ms == 0 ? 0 : call.store().now_ms() + ms};
}

void role(Call& call) {
    const Replication& replication = call.service.replication;
    const LeaderState& leader = replication.leader;
    if (leader.host.empty()) {
        call.out.array(3);
        call.out.bulk("master");
        call.out.integer(static_cast<std::int64_t>(replication.feed == nullptr ? 0 : replication.feed->end()));
        call.out.array(replication.followers.size());
        for (const Follower& each : replication.followers) {
            call.out.array(3);
            call.out.bulk(std::string_view(each.session->peer).substr(0, each.session->peer.rfind(':')));
            call.out.bulk(std::to_string(each.port)), call.out.bulk(std::to_string(each.acknowledged));
        }
        return;
    }
    call.out.array(5);
    call.out.bulk("slave"), call.out.bulk(leader.host), call.out.integer(leader.port);
    call.out.bulk(leader.loading ? "sync" : leader.up ? "connected" : "connect");
    call.out.integer(static_cast<std::int64_t>(leader.place));
}

Fields replication_fields(const Service& service) {
    const Replication& replication = service.replication;
    const LeaderState& leader = replication.leader;
    const Feed* feed = replication.feed.get();
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const auto seconds = [&](std::int64_t since_ms) { return std::to_string((service.store.now_ms() - since_ms) / 1000); };
    Fields fields = {{"role", leader.host.empty() ? "master" : "slave"}};
    if (!leader.host.empty())
        fields.insert(fields.end(), {{"master_host", leader.host}, {"master_port", number(leader.port)}, {"master_link_status", leader.up ? "up" : "down"},
            {"master_last_io_seconds_ago", leader.heard_ms == 0 ? "-1" : seconds(leader.heard_ms)}, {"master_sync_in_progress", leader.loading ? "1" : "0"},
            {"slave_read_repl_offset", number(leader.place)}, {"slave_repl_offset", number(leader.place)}, {"slave_read_only", "1"}});
    fields.emplace_back("connected_slaves", number(replication.followers.size()));
    std::size_t count = 0;
    for (const Follower& each : replication.followers)
        fields.emplace_back("slave" + number(count++), "ip=" + each.session->peer.substr(0, each.session->peer.rfind(':')) + ",port=" + number(each.port) +
            ",state=" + (each.snapshot == 0 ? "online" : "send_bulk") + ",offset=" + number(each.acknowledged) + ",lag=" + seconds(each.acknowledged_ms));
    fields.insert(fields.end(), {{"master_replid", feed == nullptr ? std::string(40, '0') : feed->id()},
        {"master_repl_offset", number(feed == nullptr ? leader.place : feed->end())}, {"repl_backlog_active", feed == nullptr ? "0" : "1"},
        {"repl_backlog_size", number(replication.backlog)}, {"repl_backlog_first_byte_offset", number(feed == nullptr ? 0 : feed->begin())},
        {"repl_backlog_histlen", number(feed == nullptr ? 0 : feed->end() - feed->begin())}});
    return fields;
}

}  // namespace offramp::store::resp
