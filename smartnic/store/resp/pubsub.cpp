// SPDX-License-Identifier: Apache-2.0
// Commands on channels.
#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_channels = 1 << 16;
constexpr std::size_t listening_overhead = 192;  // bytes of memory beside a channel's name, which is kept twice

using Names = std::set<std::string, std::less<>>;

// What a command is about: channels or patterns.
struct Subscription {
    Names RespSession::*names;
    void (PubSub::*join)(Session&, std::string_view);
    void (PubSub::*leave)(Session&, std::string_view);
    const char *joined, *left;
};

constexpr Subscription by_channel = {&RespSession::channels, &PubSub::subscribe, &PubSub::unsubscribe, "subscribe", "unsubscribe"};
constexpr Subscription by_pattern = {&RespSession::patterns, &PubSub::subscribe_pattern, &PubSub::unsubscribe_pattern, "psubscribe", "punsubscribe"};

void confirm(Call& call, const char* what, const std::string_view* name) {
    call.out.protocol() == 3 ? call.out.push(3) : call.out.array(3);
    call.out.bulk(what);
    name == nullptr ? call.out.null() : call.out.bulk(*name);
    call.out.integer(static_cast<std::int64_t>(call.session.channels.size() + call.session.patterns.size()));
}

void join(Call& call, const Subscription& how) {
    RespSession& session = call.session;
    Names& names = session.*how.names;
    if (session.acting && session.protocol == 2) return call.out.error("ERR (P)SUBSCRIBE is not allowed in a transaction");
    if (session.channels.size() + session.patterns.size() + call.size() > most_channels) return call.out.error("ERR too many channels");
    for (const std::string_view name : call.words.subspan(1)) {
        if (names.emplace(name).second) {
            (call.service.pubsub.*how.join)(session, name);
            session.listening_bytes += 2 * name.size() + listening_overhead;
        }
        confirm(call, how.joined, &name);
    }
}

void leave(Call& call, const Subscription& how) {
    RespSession& session = call.session;
    Names& names = session.*how.names;
    const auto drop = [&](std::string_view name) {
        if (const auto entry = names.find(name); entry != names.end()) {
            (call.service.pubsub.*how.leave)(session, name);
            session.listening_bytes -= 2 * name.size() + listening_overhead;
            names.erase(entry);
        }
        confirm(call, how.left, &name);
    };
    if (call.size() > 1) {
        for (const std::string_view name : call.words.subspan(1)) drop(name);
    } else if (names.empty()) {
        confirm(call, how.left, nullptr);
    } else {
        while (!names.empty()) drop(std::string(*names.begin()));
    }
}

}  // namespace

void RespSession::message(Answer& to, std::string_view pattern, std::string_view channel, std::string_view text) const {
    Reply out(to, protocol);
    const std::size_t parts = pattern.empty() ? 3 : 4;
    protocol == 3 ? out.push(parts) : out.array(parts);
    out.bulk(pattern.empty() ? "message" : "pmessage");
    if (!pattern.empty()) out.bulk(pattern);
    out.bulk(channel);
    out.bulk(text);
}

void subscribe(Call& call) {
    join(call, by_channel);
}

void unsubscribe(Call& call) {
    leave(call, by_channel);
}

void psubscribe(Call& call) {
    join(call, by_pattern);
}

void punsubscribe(Call& call) {
    leave(call, by_pattern);
}

void publish(Call& call) {
    call.out.integer(static_cast<std::int64_t>(call.service.pubsub.publish(call[1], call[2])));
}

// PUBSUB CHANNELS, NUMSUB and NUMPAT.
void pubsub(Call& call) {
    const PubSub& all = call.service.pubsub;
    if (same_word(call[1], "CHANNELS") && call.size() <= 3) {
        const std::vector<std::string_view> names = all.channels(call.size() == 3 ? call[2] : "*");
        call.out.array(names.size());
        for (const std::string_view name : names) call.out.bulk(name);
    } else if (same_word(call[1], "NUMSUB")) {
        call.out.array(2 * (call.size() - 2));
        for (const std::string_view name : call.words.subspan(2)) {
            call.out.bulk(name);
            call.out.integer(static_cast<std::int64_t>(all.listeners(name)));
        }
    } else if (same_word(call[1], "NUMPAT") && call.size() == 2) {
        call.out.integer(static_cast<std::int64_t>(all.patterns()));
    } else {
        call.out.error("ERR unknown subcommand or wrong number of arguments for 'pubsub' command");
    }
}

}  // namespace offramp::store::resp
