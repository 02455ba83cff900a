// SPDX-License-Identifier: Apache-2.0
// Commands on the connection and on transactions.
#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_watched = 1 << 16;
constexpr std::size_t watch_bytes = 160;  // of a watch beside its key

bool show_password(Call& call, std::string_view user, std::string_view password) {
    if (call.service.password.empty()) {
        call.out.error(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is "
            "correct?");
        return false;
    }
    if (user != "default" || !call.service.accepts(password)) {
        ++call.service.totals.refused;
        call.out.error("WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    call.session.prove();
    return true;
}

}  // namespace

void ping(Call& call) {
    if (call.size() > 2) return call.out.error("ERR wrong number of arguments for 'ping' command");
    if (call.session.listening() && call.session.protocol == 2) {
        call.out.array(2);
        call.out.bulk("pong");
        return call.out.bulk(call.size() == 2 ? call[1] : "");
    }
    call.size() == 2 ? call.out.bulk(call[1]) : call.out.simple("PONG");
}

void echo(Call& call) {
    call.out.bulk(call[1]);
}

void quit(Call& call) {
    call.out.ok();
    call.session.end();
}

void reset(Call& call) {
    call.session.reset();
    call.session.protocol = 2;
    call.session.name.clear();
    call.session.replies = Replies::on;
    call.out.simple("RESET");
}

void auth(Call& call) {
    if (call.size() > 3) return call.out.error(bad_syntax);
    if (show_password(call, call.size() == 3 ? call[1] : "default", call[call.size() - 1])) call.out.ok();
}

void hello(Call& call) {
    std::int64_t wanted = call.session.protocol;
    std::size_t at = 1;
    if (call.size() > 1 && (!parse_number(call[at++], wanted) || wanted < 2 || wanted > 3))
        return call.out.error("NOPROTO unsupported protocol version");
    for (; at < call.size(); ++at) {
        if (same_word(call[at], "AUTH") && at + 2 < call.size()) {
            if (!show_password(call, call[at + 1], call[at + 2])) return;
            at += 2;
        } else if (same_word(call[at], "SETNAME") && at + 1 < call.size()) {
            if (!name_client(call, call[++at])) return;
        } else {
            return call.out.error("ERR Syntax error in HELLO option");
        }
    }
    if (!call.session.proved())
        return call.out.error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
                              "<user> <pass> option can be used to authenticate the client and select the RESP protocol version at "
                              "the same time");
    call.session.protocol = static_cast<int>(wanted);
    call.out.protocol(call.session.protocol);
    call.out.map(7);
    call.out.bulk("server"), call.out.bulk("offramp");
    call.out.bulk("version"), call.out.bulk("7.0.0");
    call.out.bulk("proto"), call.out.integer(wanted);
    call.out.bulk("id"), call.out.integer(static_cast<std::int64_t>(call.session.id));
    call.out.bulk("mode"), call.out.bulk(call.service.cluster.on() ? "cluster" : "standalone");
    call.out.bulk("role"), call.out.bulk(call.store().follows ? "replica" : "master");
    call.out.bulk("modules"), call.out.array(0);
}

void select(Call& call) {
    std::int64_t number = 0;
    if (!parse_number(call[1], number)) return call.out.error(no_integer);
    if (number != static_cast<std::int32_t>(number))
        return call.out.error("ERR value is out of range, value must between -2147483648 and 2147483647");
    number == 0 ? call.out.ok() : call.out.error("ERR DB index is out of range");
}

void multi(Call& call) {
    if (call.session.queueing) return call.out.error("ERR MULTI calls can not be nested");
    call.session.queueing = true;
    call.out.ok();
}

void exec(Call& call) {
    RespSession& session = call.session;
    if (!session.queueing) return call.out.error("ERR EXEC without MULTI");
    for (const std::string& key : session.watched)  // one that has ended meanwhile has changed
        if (const Entry* entry = call.store().find(key); entry == nullptr) session.changed |= call.store().peek(key) != nullptr;
    const Transaction transaction = std::move(session.transaction);
    const bool spoilt = session.spoilt, crosses = session.crosses;
    std::string error;
    if (!spoilt && !crosses && !session.changed)
        error = call.service.replication.leader.loading ? loading : session.reserve(transaction);  // which may evict what is watched
    const bool changed = session.changed;
    session.end_transaction();
    if (spoilt) return call.out.error("EXECABORT Transaction discarded because of previous errors.");
    if (crosses) return call.out.error(cross_slot);
    if (changed) return call.out.null_array();
    if (!error.empty()) return call.out.error("EXECABORT Transaction discarded because of: " + error);
    session.execute(transaction, call.out);
}

void discard(Call& call) {
    if (!call.session.queueing) return call.out.error("ERR DISCARD without MULTI");
    call.session.end_transaction();
    call.out.ok();
}

void watch(Call& call) {
    if (call.session.queueing) return call.out.error("ERR WATCH inside MULTI is not allowed");
    if (call.session.watched.size() + call.size() > most_watched) return call.out.error("ERR too many watched keys");
    for (const std::string_view key : call.words.subspan(1)) {
        (void)call.store().find(key);  // one that has ended before is not there
        call.service.watch(key, &call.session.changed);
        call.session.watched.emplace_back(key);
        call.session.watched_bytes += 2 * key.size() + watch_bytes;
    }
    call.out.ok();
}

void unwatch(Call& call) {
    call.session.unwatch();
    call.out.ok();
}

}  // namespace offramp::store::resp
