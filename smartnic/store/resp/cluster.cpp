// SPDX-License-Identifier: Apache-2.0
// Commands by which clients learn which shard has which keys.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

struct Shard {
    std::string node;
    unsigned first, last;
    std::uint16_t port;
};

Shard shard(const Cluster& cluster, std::size_t number) {
    return {cluster.node(number), cluster.first_slot(number), cluster.first_slot(number + 1) - 1, cluster.ports[number]};
}

void slots(Call& call, const Cluster& cluster) {
    call.out.array(cluster.ports.size());
    for (std::size_t i = 0; i < cluster.ports.size(); ++i) {
        const Shard each = shard(cluster, i);
        call.out.array(3);
        call.out.integer(each.first), call.out.integer(each.last);
        call.out.array(4);
        call.out.bulk(call.session.host()), call.out.integer(each.port), call.out.bulk(each.node), call.out.array(0);
    }
}

void shards(Call& call, const Cluster& cluster) {
    call.out.array(cluster.ports.size());
    for (std::size_t i = 0; i < cluster.ports.size(); ++i) {
        const Shard each = shard(cluster, i);
        const std::string host = call.session.host();
        call.out.map(2);
        call.out.bulk("slots"), call.out.array(2), call.out.integer(each.first), call.out.integer(each.last);
        call.out.bulk("nodes"), call.out.array(1), call.out.map(7);
        call.out.bulk("id"), call.out.bulk(each.node);
        call.out.bulk("port"), call.out.integer(each.port);
        call.out.bulk("ip"), call.out.bulk(host);
        call.out.bulk("endpoint"), call.out.bulk(host);
        call.out.bulk("role"), call.out.bulk("master");
        call.out.bulk("replication-offset"), call.out.integer(0);
        call.out.bulk("health"), call.out.bulk("online");
    }
}

void nodes(Call& call, const Cluster& cluster) {
    std::string text;
    for (std::size_t i = 0; i < cluster.ports.size(); ++i) {
        const Shard each = shard(cluster, i);
        const std::string port = std::to_string(each.port);
        text += each.node + " " + call.session.host() + ":" + port + "@" + port + (i == cluster.self ? " myself,master" : " master") +
                " - 0 0 " + std::to_string(i + 1) + " connected " + std::to_string(each.first) + "-" + std::to_string(each.last) + "\n";
    }
    call.out.verbatim(text);
}

void describe(Call& call, const Cluster& cluster) {
    const std::string count = std::to_string(cluster.ports.size()), every = std::to_string(Cluster::slots);
    call.out.verbatim("cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:" + every + "\r\ncluster_slots_ok:" + every +
                      "\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:" + count + "\r\ncluster_size:" + count +
                      "\r\ncluster_current_epoch:" + count + "\r\ncluster_my_epoch:" + std::to_string(cluster.self + 1) + "\r\n");
}

bool parse_slot(Call& call, std::string_view text, unsigned& to) {
    if (parse_number(text, to) && to < Cluster::slots) return true;
    call.out.error("ERR Invalid or out of range slot");
    return false;
}

// The keys of a slot; this looks at all keys.
std::vector<std::string_view> keys_of(Call& call, unsigned slot, std::size_t most) {
    std::vector<std::string_view> names;
    call.store().index().each([&](const Entry* entry) {
        if (names.size() < most && Cluster::slot_of(entry->key()) == slot && !call.store().expired(entry)) names.push_back(entry->key());
    });
    return names;
}

}  // namespace

std::string RespSession::host() const {
    sockaddr_storage place{};
    socklen_t length = sizeof place;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &length) != 0) return "";
    if (place.ss_family == AF_INET) ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(&place)->sin_addr, text.data(), text.size());
    if (place.ss_family == AF_INET6) ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(&place)->sin6_addr, text.data(), text.size());
    return text.data();
}

void cluster(Call& call) {
    const Cluster& cluster = call.service.cluster;
    const std::string_view what = call[1];
    const std::size_t more = call.size() - 2;
    unsigned slot = 0;
    std::uint32_t most = 0;
    if (!cluster.on()) return call.out.error("ERR This instance has cluster support disabled");
    if (same_word(what, "SLOTS") && more == 0) return slots(call, cluster);
    if (same_word(what, "SHARDS") && more == 0) return shards(call, cluster);
    if (same_word(what, "NODES") && more == 0) return nodes(call, cluster);
    if (same_word(what, "INFO") && more == 0) return describe(call, cluster);
    if (same_word(what, "MYID") && more == 0) return call.out.bulk(cluster.node(cluster.self));
    if (same_word(what, "KEYSLOT") && more == 1) return call.out.integer(Cluster::slot_of(call[2]));
    if (same_word(what, "COUNTKEYSINSLOT") && more == 1) {
        if (parse_slot(call, call[2], slot)) call.out.integer(static_cast<std::int64_t>(keys_of(call, slot, ~std::size_t{0}).size()));
    } else if (same_word(what, "GETKEYSINSLOT") && more == 2) {
        if (!parse_number(call[3], most)) return call.out.error(no_integer);
        if (!parse_slot(call, call[2], slot)) return;
        const std::vector<std::string_view> names = keys_of(call, slot, most);
        call.out.array(names.size());
        for (const std::string_view name : names) call.out.bulk(name);
    } else {
        call.out.error("ERR shards are set when the store starts: SLOTS, SHARDS, NODES, INFO, MYID, KEYSLOT, COUNTKEYSINSLOT and GETKEYSINSLOT are known");
    }
}

// READONLY, READWRITE and ASKING are about copies of shards and keys on their way: there are none.
void readonly(Call& call) {
    call.service.cluster.on() ? call.out.ok() : call.out.error("ERR This instance has cluster support disabled");
}

}  // namespace offramp::store::resp
