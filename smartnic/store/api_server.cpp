// SPDX-License-Identifier: Apache-2.0
// The C interface of the server.
#include <cstring>
#include <exception>
#include <new>

#include "offramp.h"
#include "server.hpp"
#include "error_text.hpp"

using offramp::store::Policy;
using offramp::store::policy_names;
using offramp::store::Protocol;
using offramp::store::Server;
using offramp::store::Settings;
using offramp::store::Sync;
using offramp::store::tell;

struct offramp_server : Server {
    using Server::Server;
};

uint32_t offramp_abi(void) {
    return OFFRAMP_ABI;
}

const char* offramp_version(void) {
    return offramp::store::version;
}

offramp_server* offramp_server_open(const offramp_server_settings* given, char* error) {
    offramp_server_settings all{};
    std::memcpy(&all, given, given->size < sizeof all ? given->size : sizeof all);
    Settings settings;
    settings.limits.memory = all.memory;
    if (all.value_bytes != 0) settings.limits.value = all.value_bytes;
    if (all.connections != 0) settings.connections = all.connections;
    if (all.folder != nullptr) settings.folder = all.folder;
    if (all.password != nullptr) settings.password = all.password;
    settings.sync = static_cast<Sync>(all.sync % 3);
    settings.cut = all.cut != 0;
    settings.spin_us = all.spin_us;
    settings.eviction = static_cast<Policy>(all.eviction % policy_names.size());
    if (all.backlog != 0) settings.backlog = all.backlog;
    try {
        auto server = std::make_unique<offramp_server>(settings);
        std::string reason;
        if (server->open(reason)) return server.release();
        tell(error, reason);
    } catch (const std::exception& fault) {
        tell(error, fault.what());
    }
    return nullptr;
}

void offramp_server_listen(offramp_server* server, int socket, int protocol) {
    server->listen(socket, protocol == OFFRAMP_MEMCACHED ? Protocol::memcached : Protocol::resp);
}

void offramp_server_adopt(offramp_server* server, int socket, int protocol) {
    server->adopt(socket, protocol == OFFRAMP_MEMCACHED ? Protocol::memcached : Protocol::resp);
}

void offramp_server_join(offramp_server* server, uint32_t self, uint32_t shards, const uint16_t* ports, const char* id) {
    server->join({{ports, ports + shards}, self, id});
}

int offramp_server_follow(offramp_server* server, const char* host, uint16_t leader_port, uint16_t port, char* error) {
    std::string reason;
    if (server->follow(host, leader_port, port, reason)) return 0;
    tell(error, reason);
    return -1;
}

void offramp_server_run(offramp_server* server) {
    server->run();
}

void offramp_server_stop(offramp_server* server) {
    server->stop();
}

void offramp_server_recovered(const offramp_server* server, uint64_t* keys, uint64_t* records, uint64_t* torn) {
    *keys = server->store().size();
    *records = server->disk() == nullptr ? 0 : server->disk()->records();
    *torn = server->disk() == nullptr ? 0 : server->disk()->torn_bytes();
}

void offramp_server_close(offramp_server* server) {
    delete server;
}
