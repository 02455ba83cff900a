// SPDX-License-Identifier: Apache-2.0
// The commands of redis' protocol, by file.
#pragma once

#include <optional>

#include "resp/session.hpp"

namespace offramp::store::resp {

constexpr const char* no_integer = "ERR value is not an integer or out of range";
constexpr const char* bad_syntax = "ERR syntax error";
constexpr const char* loading = "LOADING this store is loading what it follows";
constexpr const char* cross_slot = "CROSSSLOT Keys in request don't hash to the same slot";

// When something ends, from a number of seconds or milliseconds, from now or from 1970; nothing where there is no such time.
[[nodiscard]] std::optional<std::int64_t> end_of(Call& call, std::string_view text, bool seconds, bool from_now);
// Whether a key and a value are short enough; answers where not.
[[nodiscard]] bool fit(Call& call, std::string_view key, std::size_t value);

// values.cpp
void get(Call&), set(Call&), setnx(Call&), setex(Call&), psetex(Call&), getset(Call&), getdel(Call&), getex(Call&), mget(Call&);
void mset(Call&), msetnx(Call&), append(Call&), strlen(Call&), getrange(Call&), setrange(Call&), cas(Call&);
void incr(Call&), decr(Call&), incrby(Call&), decrby(Call&), incrbyfloat(Call&);
// keys.cpp
void del(Call&), exists(Call&), expire(Call&), pexpire(Call&), expireat(Call&), pexpireat(Call&), ttl(Call&), pttl(Call&);
void expiretime(Call&), pexpiretime(Call&), persist(Call&), type(Call&), keys(Call&), scan(Call&), dbsize(Call&), flush(Call&);
void rename(Call&), renamenx(Call&), randomkey(Call&);
// connection.cpp
void ping(Call&), echo(Call&), quit(Call&), hello(Call&), auth(Call&), select(Call&), reset(Call&);
void multi(Call&), exec(Call&), discard(Call&), watch(Call&), unwatch(Call&);
// clients.cpp
void client(Call&);
// Whether a client may be called that; answers where not.
[[nodiscard]] bool name_client(Call& call, std::string_view name);
// guard.cpp
void guard(Call&), unguard(Call&), release(Call&), getver(Call&), setver(Call&);
void tell_change(Answer& to, Store& store, const Guards::Notice& notice);
// pubsub.cpp
void subscribe(Call&), unsubscribe(Call&), psubscribe(Call&), punsubscribe(Call&), publish(Call&), pubsub(Call&);
// cluster.cpp
void cluster(Call&), readonly(Call&);
// replication.cpp
void replicaof(Call&), replconf(Call&), follow(Call&), wait_for(Call&), role(Call&);
using Fields = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Fields replication_fields(const Service& service);
// config.cpp
void config(Call&);
[[nodiscard]] std::string setting(const Service& service, std::string_view name);
// server.cpp
void info(Call&), command(Call&), save(Call&), bgsave(Call&), lastsave(Call&), now(Call&);

}  // namespace offramp::store::resp
