// SPDX-License-Identifier: Apache-2.0
// CLIENT: what is known of connections, and how they are ended.
#include <algorithm>
#include <array>

#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_name = 256;
constexpr const char* types = "NORMAL MASTER REPLICA SLAVE PUBSUB";

bool printable(std::string_view text) {
    for (const char each : text)
        if (each <= ' ' || each > '~') return false;
    return text.size() <= most_name;
}

void wrong_count(Call& call) {
    call.out.error("ERR wrong number of arguments for 'client|" + lower(call[1].substr(0, 64)) + "' command");
}

bool set_name(Call& call, std::string_view name) {
    if (printable(name)) return call.session.name = name, true;
    call.out.error("ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
}

void set_info(Call& call) {
    if (call.size() != 4) return wrong_count(call);
    if (!printable(call[3])) return call.out.error("ERR " + lower(call[2]) + " cannot contain spaces, newlines or special characters.");
    if (same_word(call[2], "LIB-NAME"))
        call.session.library = call[3];
    else if (same_word(call[2], "LIB-VER"))
        call.session.library_version = call[3];
    else
        return call.out.error("ERR Unrecognized option '" + lower(call[2].substr(0, 64)) + "'");
    call.out.ok();
}

// Of redis' types; none is a master: what this store follows is no client.
std::string_view type_of(const Call& call, const Client& client) {
    if (call.service.replication.of(*client.session) != nullptr) return "REPLICA";
    const ClientFacts facts = client.session->facts();
    return facts.channels + facts.patterns != 0 ? "PUBSUB" : "NORMAL";
}

// The type that a word names, none if it is no type.
std::string_view named_type(std::string_view word) {
    std::string_view left = types;
    while (!left.empty())
        if (const std::string_view each = next_word(left); same_word(word, each)) return each == "SLAVE" ? "REPLICA" : each;
    return {};
}

std::string unknown_type(std::string_view word) {
    return "ERR Unknown client type '" + lower(word.substr(0, 64)) + "'";
}

// A line of CLIENT LIST. Numbers of what this server does not have are 0.
std::string line(const Call& call, const Client& client) {
    const ClientFacts facts = client.session->facts();
    const std::string_view type = type_of(call, client);
    std::string flags = type == "REPLICA" ? "S" : type == "PUBSUB" ? "P" : "";
    if (facts.queued >= 0) flags += 'x';
    if (client.closing) flags += 'c';
    const auto number = [](auto value) { return std::to_string(value); };
    return "id=" + number(client.session->id) + " addr=" + client.session->peer + " laddr=" + client.local + " fd=" + number(client.session->socket) +
           " name=" + facts.name + " age=" + number(client.age_s) + " idle=" + number(client.idle_s) + " flags=" + (flags.empty() ? "N" : flags) +
           " db=0 sub=" + number(facts.channels) + " psub=" + number(facts.patterns) + " ssub=0 multi=" + number(facts.queued) +
           " watch=" + number(facts.watched) + " qbuf=" + number(client.in) + " qbuf-free=0 argv-mem=0 multi-mem=" + number(facts.queued_bytes) +
           " rbs=0 rbp=0 obl=" + number(client.out) + " oll=0 omem=0 tot-mem=" + number(client.footprint) + " events=r cmd=" + facts.command +
           " user=default redir=-1 resp=" + number(facts.protocol) + " lib-name=" + facts.library + " lib-ver=" + facts.library_version + "\n";
}

// CLIENT LIST, of all clients, of a type, or of those with an id.
void list_clients(Call& call) {
    std::vector<std::uint64_t> ids;
    std::string_view type;
    if (call.size() == 4 && same_word(call[2], "TYPE")) {
        type = named_type(call[3]);
        if (type.empty()) return call.out.error(unknown_type(call[3]));
    } else if (call.size() >= 4 && same_word(call[2], "ID")) {
        for (const std::string_view word : call.words.subspan(3))
            if (!parse_number(word, ids.emplace_back()) || ids.back() == 0) return call.out.error("ERR Invalid client ID");
    } else if (call.size() != 2) {
        return call.out.error(bad_syntax);
    }
    std::string text;
    for (const Client& each : call.service.clients()) {
        const bool asked = ids.empty() || std::find(ids.begin(), ids.end(), each.session->id) != ids.end();
        if (asked && (type.empty() || type_of(call, each) == type) && text.size() < most_answer) text += line(call, each);
    }
    call.out.verbatim(text);
}

void tell_own(Call& call) {
    for (const Client& each : call.service.clients())
        if (each.session == &call.session) return call.out.verbatim(line(call, each));
}

// What a client has to be, so that CLIENT KILL ends it.
struct Filter {
    std::uint64_t id = 0;
    std::string_view type, address, local, user;
    std::int64_t age_s = 0;
    bool others = true;  // the one that asks stays

    [[nodiscard]] bool takes(const Call& call, const Client& client) const {
        return (id == 0 || client.session->id == id) && (type.empty() || type_of(call, client) == type) &&
               (address.empty() || client.session->peer == address) && (local.empty() || client.local == local) &&
               (user.empty() || user == "default") && client.age_s >= age_s && !(others && client.session == &call.session);
    }
};

// Nothing, or the error.
std::string read_filter(const Call& call, Filter& filter) {
    for (std::size_t i = 2; i < call.size(); i += 2) {
        if (i + 1 == call.size()) return bad_syntax;
        const std::string_view what = call[i], value = call[i + 1];
        if (same_word(what, "ID")) {
            if (!parse_number(value, filter.id) || filter.id == 0) return "ERR client-id should be greater than 0";
        } else if (same_word(what, "MAXAGE")) {
            if (!parse_number(value, filter.age_s)) return "ERR maxage is not an integer or out of range";
            if (filter.age_s <= 0) return "ERR maxage should be greater than 0";
        } else if (same_word(what, "TYPE")) {
            filter.type = named_type(value);
            if (filter.type.empty()) return unknown_type(value);
        } else if (same_word(what, "ADDR")) {
            filter.address = value;
        } else if (same_word(what, "LADDR")) {
            filter.local = value;
        } else if (same_word(what, "USER")) {
            if (value != "default") return "ERR No such user '" + std::string(value.substr(0, 64)) + "'";
            filter.user = value;
        } else if (same_word(what, "SKIPME") && (same_word(value, "YES") || same_word(value, "NO"))) {
            filter.others = same_word(value, "YES");
        } else {
            return bad_syntax;
        }
    }
    return "";
}

// CLIENT KILL ADDRESS, or with filters.
void kill_clients(Call& call) {
    if (call.size() == 2) return wrong_count(call);
    const bool old = call.size() == 3;
    Filter filter;
    if (old) filter.address = call[2], filter.others = false;
    const std::string error = old ? "" : read_filter(call, filter);
    if (!error.empty()) return call.out.error(error);
    std::int64_t count = 0;
    for (const Client& each : call.service.clients()) {
        if (!filter.takes(call, each)) continue;
        ++count;
        each.session == &call.session ? call.session.end() : call.service.kill(each.session->id);
    }
    if (!old) return call.out.integer(count);
    count == 0 ? call.out.error("ERR No such client") : call.out.ok();
}

// CLIENT REPLY: whether commands are answered. Messages are sent all the same.
void set_replies(Call& call) {
    if (call.size() != 3) return wrong_count(call);
    if (same_word(call[2], "ON")) {
        call.session.replies = Replies::on;
        call.out.ok();
    } else if (same_word(call[2], "OFF")) {
        call.session.replies = Replies::off;
    } else if (!same_word(call[2], "SKIP")) {
        call.out.error(bad_syntax);
    } else if (call.session.replies == Replies::on) {
        call.session.replies = Replies::skip_next;
    }
}

}  // namespace

bool name_client(Call& call, std::string_view name) {
    return set_name(call, name);
}

void client(Call& call) {
    const std::string_view what = call[1];
    const std::size_t more = call.size() - 2;
    if (same_word(what, "ID") && more == 0) return call.out.integer(static_cast<std::int64_t>(call.session.id));
    if (same_word(what, "GETNAME") && more == 0)
        return call.session.name.empty() ? call.out.null() : call.out.bulk(call.session.name);
    if (same_word(what, "SETNAME") && more == 1) return set_name(call, call[2]) ? call.out.ok() : void();
    if (same_word(what, "SETINFO")) return set_info(call);
    if (same_word(what, "INFO") && more == 0) return tell_own(call);
    if (same_word(what, "LIST")) return list_clients(call);
    if (same_word(what, "KILL")) return kill_clients(call);
    if (same_word(what, "REPLY")) return set_replies(call);
    if (same_word(what, "GETREDIR") && more == 0) return call.out.integer(-1);
    // Nothing has a time of its last use, and whoever holds most memory is closed, whoever it is.
    if ((same_word(what, "NO-EVICT") || same_word(what, "NO-TOUCH")) && more == 1) {
        if (same_word(call[2], "OFF") || (same_word(call[2], "ON") && same_word(what, "NO-TOUCH"))) return call.out.ok();
        return call.out.error(same_word(call[2], "ON") ? "ERR no client is exempt from eviction" : bad_syntax);
    }
    call.out.error("ERR unknown subcommand or wrong number of arguments for 'client' command");
}

}  // namespace offramp::store::resp
