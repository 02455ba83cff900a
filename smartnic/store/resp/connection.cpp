// SPDX-License-Identifier: Apache-2.0
// Commands on the connection and on transactions.
#include <algorithm>
#include <array>

#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_name = 256;
constexpr std::size_t most_watched = 1 << 16;
constexpr std::size_t watch_bytes = 160;  // of a watch beside its key

bool printable(std::string_view text) {
    for (const char each : text)
        if (each <= ' ' || each > '~') return false;
    return text.size() <= most_name;
}

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

void set_name(Call& call, std::string_view name) {
    if (!printable(name)) return call.out.error("ERR Client names cannot contain spaces, newlines or special characters.");
    call.session.name = name;
    call.out.ok();
}

void set_info(Call& call) {
    if (call.size() != 4) return call.out.error(bad_syntax);
    if (!printable(call[3])) return call.out.error("ERR " + lower(call[2]) + " cannot contain spaces, newlines or special characters.");
    if (same_word(call[2], "LIB-NAME"))
        call.session.library = call[3];
    else if (same_word(call[2], "LIB-VER"))
        call.session.library_version = call[3];
    else
        return call.out.error("ERR Unrecognized option '" + lower(call[2].substr(0, 64)) + "'");
    call.out.ok();
}

// CLIENT LIST, of all clients, of a type (all are normal), or of those with an id.
void list_clients(Call& call) {
    constexpr std::array<std::string_view, 5> types = {"NORMAL", "MASTER", "REPLICA", "SLAVE", "PUBSUB"};
    std::vector<std::uint64_t> ids;
    if (call.size() == 4 && same_word(call[2], "TYPE")) {
        const bool known = std::any_of(types.begin(), types.end(), [&](std::string_view each) { return same_word(call[3], each); });
        if (!known) return call.out.error("ERR Unknown client type '" + lower(call[3].substr(0, 64)) + "'");
        if (!same_word(call[3], types[0])) return call.out.verbatim("");
    } else if (call.size() >= 4 && same_word(call[2], "ID")) {
        for (const std::string_view word : call.words.subspan(3))
            if (!parse_number(word, ids.emplace_back()) || ids.back() == 0) return call.out.error("ERR Invalid client ID");
    } else if (call.size() != 2) {
        return call.out.error(bad_syntax);
    }
    call.out.verbatim(call.service.clients ? call.service.clients(ids) : "");
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
        } else if (same_word(call[at], "SETNAME") && at + 1 < call.size() && printable(call[at + 1])) {
            call.session.name = call[++at];
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
    number == 0 ? call.out.ok() : call.out.error("ERR DB index is out of range");
}

void client(Call& call) {
    const std::string_view what = call[1];
    const std::size_t more = call.size() - 2;
    if (same_word(what, "ID") && more == 0) return call.out.integer(static_cast<std::int64_t>(call.session.id));
    if (same_word(what, "GETNAME") && more == 0)
        return call.session.name.empty() ? call.out.null() : call.out.bulk(call.session.name);
    if (same_word(what, "SETNAME") && more == 1) return set_name(call, call[2]);
    if (same_word(what, "SETINFO")) return set_info(call);
    if (same_word(what, "INFO") && more == 0)
        return call.out.verbatim("id=" + std::to_string(call.session.id) + " " + call.session.describe() + "\n");
    if (same_word(what, "LIST")) return list_clients(call);
    // Nothing has a time of its last use, and whoever holds most memory is closed, whoever it is.
    if ((same_word(what, "NO-EVICT") || same_word(what, "NO-TOUCH")) && more == 1) {
        if (same_word(call[2], "OFF") || (same_word(call[2], "ON") && same_word(what, "NO-TOUCH"))) return call.out.ok();
        return call.out.error(same_word(call[2], "ON") ? "ERR no client is exempt from eviction" : bad_syntax);
    }
    std::uint64_t id = 0;
    if (same_word(what, "KILL") && more == 2 && same_word(call[2], "ID") && parse_number(call[3], id))
        return call.out.integer(call.service.kill && call.service.kill(id));
    call.out.error("ERR unknown subcommand or wrong number of arguments for 'client' command");
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
