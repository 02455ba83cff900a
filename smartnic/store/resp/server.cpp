// SPDX-License-Identifier: Apache-2.0
// Commands on the server.
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "resp/commands.hpp"
#include "resp/glob.hpp"

namespace offramp::store::resp {
namespace {

std::string human(std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2fM", static_cast<double>(bytes) / (1 << 20));
    return text;
}

const char* policy_name(const Store& store) {
    constexpr std::array names = {"always", "everysec", "no"};
    return store.log() == nullptr ? "no" : names[static_cast<std::size_t>(store.log()->policy())];
}

std::string settings(Call& call, std::string_view name) {
    if (name == "maxmemory") return std::to_string(call.store().limits().memory);
    if (name == "maxmemory-policy") return "noeviction";
    if (name == "appendonly") return call.store().log() == nullptr ? "no" : "yes";
    if (name == "appendfsync") return policy_name(call.store());
    if (name == "proto-max-bulk-len") return std::to_string(call.store().limits().value);
    if (name == "databases") return "1";
    return "";  // save: snapshots are made on demand, or when the log has become long
}

void section(std::string& to, const char* title, std::initializer_list<std::pair<const char*, std::string>> fields) {
    to.append("# ").append(title).append("\r\n");
    for (const auto& [name, value] : fields) to.append(name).append(":").append(value).append("\r\n");
    to.append("\r\n");
}

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

void describe_command(Call& call, const Command& command) {
    call.out.array(6);
    call.out.bulk(command.name);
    call.out.integer(command.arity);
    call.out.set(1);
    call.out.simple((command.flags & writes) != 0 ? "write" : (command.flags & admin) != 0 ? "fast" : "readonly");
    call.out.integer(command.first);
    call.out.integer(command.last);
    call.out.integer(command.step);
}

void start_saving(Call& call, bool wait, const char* done) {
    if (!call.service.save) return call.out.error("ERR there is no folder to save to");
    const std::string error = call.service.save(wait);
    error.empty() ? call.out.simple(done) : call.out.error("ERR " + error);
}

}  // namespace

void info(Call& call) {
    const Store& store = call.store();
    const Totals& totals = call.service.totals;
    const Log* log = store.log();
    const std::int64_t up_s = (store.now_ms() - call.service.began_ms) / 1000;
    std::string text;
    section(text, "Server", {{"redis_version", "7.0.0"}, {"server_name", "offramp"}, {"offramp_version", version}, {"redis_mode", "standalone"},
        {"process_id", number(static_cast<std::uint64_t>(::getpid()))}, {"uptime_in_seconds", std::to_string(up_s)}, {"arch_bits", "64"}});
    section(text, "Clients", {{"connected_clients", number(totals.open)}});
    section(text, "Memory", {{"used_memory", number(store.used())}, {"used_memory_human", human(store.used())},
        {"maxmemory", number(store.limits().memory)}, {"maxmemory_policy", "noeviction"}});
    section(text, "Persistence", {{"loading", "0"}, {"aof_enabled", log == nullptr ? "0" : "1"}, {"appendfsync", policy_name(store)},
        {"aof_last_write_status", log != nullptr && log->failed() ? "err" : "ok"}, {"aof_current_size", number(log == nullptr ? 0 : log->size())},
        {"log_records", number(log == nullptr ? 0 : log->number())}, {"log_syncs", number(log == nullptr ? 0 : log->syncs())},
        {"rdb_bgsave_in_progress", call.service.saving ? "1" : "0"}, {"rdb_last_save_time", std::to_string(call.service.saved_s)}});
    section(text, "Stats", {{"total_connections_received", number(totals.connections)}, {"total_commands_processed", number(totals.commands)},
        {"total_net_input_bytes", number(totals.bytes_in)}, {"total_net_output_bytes", number(totals.bytes_out)},
        {"keyspace_hits", number(store.counts.hits)}, {"keyspace_misses", number(store.counts.misses)}, {"expired_keys", number(store.counts.expired)},
        {"guarded_keys", number(call.service.guards.keys())}, {"value_version", number(store.version())}, {"refused", number(totals.refused)}, {"protocol_errors", number(totals.protocol_errors)}});
    section(text, "Replication", {{"role", "master"}, {"connected_slaves", "0"}});
    section(text, "Cluster", {{"cluster_enabled", "0"}});
    text.append("# Keyspace\r\n");
    if (store.size() != 0) text.append("db0:keys=" + number(store.size()) + ",expires=" + number(store.expiring()) + ",avg_ttl=0\r\n");
    call.out.verbatim(text);
}

void command(Call& call) {
    if (call.size() == 1 || (same_word(call[1], "INFO") && call.size() == 2)) {
        call.out.array(all_commands().size());
        for (const Command& each : all_commands()) describe_command(call, each);
    } else if (same_word(call[1], "COUNT")) {
        call.out.integer(static_cast<std::int64_t>(all_commands().size()));
    } else if (same_word(call[1], "DOCS")) {
        call.out.map(0);
    } else if (same_word(call[1], "LIST")) {
        call.out.array(all_commands().size());
        for (const Command& each : all_commands()) call.out.bulk(each.name);
    } else if (same_word(call[1], "INFO")) {
        call.out.array(call.size() - 2);
        for (const std::string_view name : call.words.subspan(2)) {
            const Command* found = find_command(name);
            found == nullptr ? call.out.null_array() : describe_command(call, *found);
        }
    } else {
        call.out.error("ERR unknown subcommand or wrong number of arguments for 'command' command");
    }
}

void config(Call& call) {
    constexpr std::array names = {"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "proto-max-bulk-len", "databases", "save"};
    std::uint64_t bytes = 0;
    if (same_word(call[1], "GET") && call.size() >= 3) {
        std::vector<const char*> found;
        for (const char* name : names)
            for (const std::string_view pattern : call.words.subspan(2))
                if (matches(lower(pattern), name)) {
                    found.push_back(name);
                    break;
                }
        call.out.map(found.size());
        for (const char* name : found) call.out.bulk(name), call.out.bulk(settings(call, name));
    } else if (same_word(call[1], "SET") && call.size() == 4 && same_word(call[2], "MAXMEMORY")) {
        if (!parse_number(call[3], bytes)) return call.out.error("ERR CONFIG SET failed: expected a number of bytes");
        call.store().limits().memory = bytes;
        call.out.ok();
    } else if (same_word(call[1], "SET")) {
        call.out.error("ERR Unknown option or number of arguments for CONFIG SET: only maxmemory may be set");
    } else if (same_word(call[1], "RESETSTAT") && call.size() == 2) {
        call.store().counts = {};
        call.service.totals.commands = call.service.totals.connections = 0;
        call.out.ok();
    } else {
        call.out.error("ERR unknown subcommand or wrong number of arguments for 'config' command");
    }
}

void save(Call& call) {
    start_saving(call, true, "OK");
}

void bgsave(Call& call) {
    start_saving(call, false, "Background saving started");
}

void lastsave(Call& call) {
    call.out.integer(call.service.saved_s);
}

void now(Call& call) {
    const std::int64_t ms = call.store().now_ms();
    call.out.array(2);
    call.out.bulk(std::to_string(ms / 1000));
    call.out.bulk(std::to_string(ms % 1000 * 1000));
}

}  // namespace offramp::store::resp
