// SPDX-License-Identifier: Apache-2.0
// Every command, and how it is found.
#include <algorithm>
#include <array>
#include <cstdint>

#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr unsigned adds = writes | grows, link = admin | open;

constexpr Command commands[] = {
    {"get", 2, reads, get, 1, 1, 1},
    {"set", -3, adds, set, 1, 1, 1},
    {"setnx", 3, adds, setnx, 1, 1, 1},
    {"setex", 4, adds, setex, 1, 1, 1},
    {"psetex", 4, adds, psetex, 1, 1, 1},
    {"getset", 3, adds, getset, 1, 1, 1},
    {"getdel", 2, writes, getdel, 1, 1, 1},
    {"getex", -2, writes, getex, 1, 1, 1},
    {"mget", -2, reads, mget, 1, -1, 1},
    {"mset", -3, adds, mset, 1, -1, 2},
    {"msetnx", -3, adds, msetnx, 1, -1, 2},
    {"append", 3, adds, append, 1, 1, 1, Verb::append},
    {"strlen", 2, reads, strlen, 1, 1, 1},
    {"getrange", 4, reads, getrange, 1, 1, 1},
    {"substr", 4, reads, getrange, 1, 1, 1},
    {"setrange", 4, adds | pads, setrange, 1, 1, 1, Verb::setrange},
    {"cas", 4, adds, cas, 1, 1, 1},
    {"incr", 2, adds, incr, 1, 1, 1, Verb::incrby},
    {"decr", 2, adds, decr, 1, 1, 1, Verb::incrby},
    {"incrby", 3, adds, incrby, 1, 1, 1, Verb::incrby},
    {"decrby", 3, adds, decrby, 1, 1, 1, Verb::incrby},
    {"incrbyfloat", 3, adds | computes, incrbyfloat, 1, 1, 1, Verb::incrbyfloat},
    {"del", -2, writes, del, 1, -1, 1},
    {"unlink", -2, writes, del, 1, -1, 1},
    {"exists", -2, reads, exists, 1, -1, 1},
    {"touch", -2, reads, exists, 1, -1, 1},
    {"expire", -3, writes, expire, 1, 1, 1},
    {"pexpire", -3, writes, pexpire, 1, 1, 1},
    {"expireat", -3, writes, expireat, 1, 1, 1},
    {"pexpireat", -3, writes, pexpireat, 1, 1, 1},
    {"ttl", 2, reads, ttl, 1, 1, 1},
    {"pttl", 2, reads, pttl, 1, 1, 1},
    {"expiretime", 2, reads, expiretime, 1, 1, 1},
    {"pexpiretime", 2, reads, pexpiretime, 1, 1, 1},
    {"persist", 2, writes, persist, 1, 1, 1},
    {"type", 2, reads, type, 1, 1, 1},
    {"rename", 3, writes | moves, rename, 1, 2, 1, Verb::rename},
    {"renamenx", 3, writes | moves, renamenx, 1, 2, 1, Verb::rename},
    {"randomkey", 1, all, randomkey, 0, 0, 0},
    {"keys", 2, all, keys, 0, 0, 0},
    {"scan", -2, all, scan, 0, 0, 0},
    {"dbsize", 1, all, dbsize, 0, 0, 0},
    {"flushall", -1, writes, flush, 0, 0, 0},
    {"flushdb", -1, writes, flush, 0, 0, 0},
    {"ping", -1, admin | listens, ping, 0, 0, 0},
    {"echo", 2, admin, echo, 0, 0, 0},
    {"quit", -1, link | at_once | listens, quit, 0, 0, 0},
    {"reset", 1, link | at_once | listens, reset, 0, 0, 0},
    {"hello", -1, link, hello, 0, 0, 0},
    {"auth", -2, link, auth, 0, 0, 0},
    {"select", 2, admin, select, 0, 0, 0},
    {"client", -2, admin | family, client, 0, 0, 0},
    {"multi", 1, admin | at_once, multi, 0, 0, 0},
    {"exec", 1, admin | at_once, exec, 0, 0, 0},
    {"discard", 1, admin | at_once, discard, 0, 0, 0},
    {"watch", -2, admin | at_once, watch, 1, -1, 1},
    {"unwatch", 1, admin, unwatch, 0, 0, 0},
    {"guard", 2, reads, guard, 1, 1, 1},
    {"unguard", 2, admin, unguard, 1, 1, 1},
    {"release", 2, admin, release, 0, 0, 0},
    {"getver", 2, reads, getver, 1, 1, 1},
    {"setver", 3, adds, setver, 1, 1, 1},
    {"subscribe", -2, admin | listens | channel, subscribe, 0, 0, 0},
    {"unsubscribe", -1, admin | listens | channel, unsubscribe, 0, 0, 0},
    {"psubscribe", -2, admin | listens | channel, psubscribe, 0, 0, 0},
    {"punsubscribe", -1, admin | listens | channel, punsubscribe, 0, 0, 0},
    {"publish", 3, admin | channel, publish, 0, 0, 0},
    {"pubsub", -2, admin | family | channel, pubsub, 0, 0, 0},
    {"cluster", -2, admin | family, cluster, 0, 0, 0},
    {"readonly", 1, admin, readonly, 0, 0, 0},
    {"readwrite", 1, admin, readonly, 0, 0, 0},
    {"asking", 1, admin, readonly, 0, 0, 0},
    {"replicaof", 3, admin | alone, replicaof, 0, 0, 0},
    {"slaveof", 3, admin | alone, replicaof, 0, 0, 0},
    {"replconf", -3, admin | alone, replconf, 0, 0, 0},
    {"follow", 3, admin | alone, follow, 0, 0, 0},
    {"wait", 3, admin, wait_for, 0, 0, 0},
    {"role", 1, admin, role, 0, 0, 0},
    {"info", -1, admin, info, 0, 0, 0},
    {"command", -1, admin | family, command, 0, 0, 0},
    {"config", -2, admin | family, config, 0, 0, 0},
    {"save", 1, admin | alone, save, 0, 0, 0},
    {"bgsave", -1, admin, bgsave, 0, 0, 0},
    {"bgrewriteaof", 1, admin, bgsave, 0, 0, 0},
    {"lastsave", 1, admin, lastsave, 0, 0, 0},
    {"time", 1, admin, now, 0, 0, 0},
};
constexpr std::size_t places = 256, longest = 16;

// Letters count without their case: bit 5 is left out.
std::size_t place_of(std::string_view name) {
    std::uint32_t hash = static_cast<std::uint32_t>(name.size());
    for (const char each : name) hash = (hash ^ (static_cast<unsigned char>(each) | 32u)) * 16777619u;
    return (hash ^ hash >> 13) % places;
}

bool same(std::string_view name, const char* lower) {
    for (const char each : name)
        if ((*lower == '\0') || (each != *lower && (each < 'A' || each > 'Z' || each + 32 != *lower))) return false;
        else
            ++lower;
    return *lower == '\0';
}

// Open addressing: a command is at its place or behind it.
const auto table = [] {
    std::array<const Command*, places> by_place{};
    for (const Command& each : commands) {
        std::size_t at = place_of(each.name);
        while (by_place[at] != nullptr) at = (at + 1) % places;
        by_place[at] = &each;
    }
    return by_place;
}();

}  // namespace

const Command* find_command(std::string_view name) {
    if (name.size() > longest) return nullptr;
    for (std::size_t at = place_of(name); table[at] != nullptr; at = (at + 1) % places)
        if (same(name, table[at]->name)) return table[at];
    return nullptr;
}

std::span<const Command> all_commands() {
    return commands;
}

}  // namespace offramp::store::resp
