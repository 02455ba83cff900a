// SPDX-License-Identifier: Apache-2.0
// Commands on the server.
#include <sys/resource.h>
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

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

void describe_command(Call& call, const Command& command) {
    call.out.array(6);
    call.out.bulk(command.name);
    call.out.integer(command.arity);
    call.out.set(1);
    call.out.simple((command.flags & writes) != 0 ? "write" : (command.flags & channel) != 0 ? "pubsub" : (command.flags & admin) != 0 ? "fast" : "readonly");
    call.out.integer(command.first);
    call.out.integer(command.last);
    call.out.integer(command.step);
}

// COMMAND LIST, of all commands or of those whose names match a pattern. There are no modules, and no categories.
void list_commands(Call& call) {
    std::string_view pattern = "*";
    bool none = false;
    if (call.size() == 5 && same_word(call[2], "FILTERBY")) {
        none = same_word(call[3], "MODULE");
        if (!none && !same_word(call[3], "PATTERN")) return call.out.error(bad_syntax);
        pattern = call[4];
    } else if (call.size() != 2) {
        return call.out.error(bad_syntax);
    }
    std::vector<const char*> names;
    for (const Command& each : all_commands())
        if (!none && matches(lower(pattern), each.name)) names.push_back(each.name);
    call.out.array(names.size());
    for (const char* name : names) call.out.bulk(name);
}

// COMMAND GETKEYS: which of a command's words are keys.
void tell_keys(Call& call) {
    if (call.size() < 4) return call.out.error("ERR wrong number of arguments for 'command|getkeys' command");
    const Arguments words = call.words.subspan(2);
    const Command* named = find_command(words[0]);
    if (named == nullptr) return call.out.error("ERR Invalid command specified");
    if (!fits(*named, words.size())) return call.out.error("ERR Invalid number of arguments specified for command");
    std::vector<std::string_view> keys;
    named->each_key(words, [&](std::string_view key) { keys.push_back(key); });
    if (keys.empty()) return call.out.error("ERR The command has no key arguments");
    call.out.array(keys.size());
    for (const std::string_view key : keys) call.out.bulk(key);
}

// Seconds of processor time, as INFO has them.
std::string seconds(const timeval& time) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(time.tv_sec), static_cast<long long>(time.tv_usec));
    return text;
}

bool can_save(Call& call) {
    if (call.service.save) return true;
    call.out.error("ERR there is no folder to save to");
    return false;
}

}  // namespace

void info(Call& call) {
    const Store& store = call.store();
    const Totals& totals = call.service.totals;
    const Log* log = store.log();
    const std::int64_t up_s = (store.now_ms() - call.service.began_ms) / 1000;
    const std::size_t used = store.used() + store.held();
    constexpr std::array everything = {"ALL", "DEFAULT", "EVERYTHING"};
    std::string text;
    const auto section = [&](const char* title, const Fields& fields) {
        bool asked = call.size() == 1;
        for (const std::string_view word : call.words.subspan(1)) {
            asked |= lower(word) == lower(title);
            for (const char* each : everything) asked |= same_word(word, each);
        }
        if (!asked) return;
        text.append(text.empty() ? "# " : "\r\n# ").append(title).append("\r\n");
        for (const auto& [name, value] : fields)
            if (!value.empty()) text.append(name).append(":").append(value).append("\r\n");
    };
    section("Server", {{"redis_version", "7.0.0"}, {"server_name", "offramp"}, {"offramp_version", version}, {"redis_mode", call.service.cluster.on() ? "cluster" : "standalone"},
        {"process_id", number(static_cast<std::uint64_t>(::getpid()))}, {"uptime_in_seconds", std::to_string(up_s)}, {"arch_bits", "64"}});
    section("Clients", {{"connected_clients", number(totals.open)}});
    section("Memory", {{"used_memory", number(used)}, {"used_memory_human", human(used)}, {"mem_clients_normal", number(store.held())},
        {"maxmemory", number(store.limits().memory)}, {"maxmemory_policy", setting(call.service, "maxmemory-policy")}});
    section("Persistence", {{"loading", call.service.replication.leader.loading ? "1" : "0"}, {"aof_enabled", log == nullptr ? "0" : "1"}, {"appendfsync", setting(call.service, "appendfsync")},
        {"aof_last_write_status", log != nullptr && log->failed() ? "err" : "ok"}, {"aof_current_size", number(log == nullptr ? 0 : log->size())},
        {"log_records", number(log == nullptr ? 0 : log->number())}, {"log_syncs", number(log == nullptr ? 0 : log->syncs())},
        {"rdb_bgsave_in_progress", call.service.saving ? "1" : "0"}, {"rdb_last_save_time", std::to_string(call.service.saved_s)},
        {"rdb_last_bgsave_status", call.service.save_failed ? "err" : "ok"}, {"aof_last_bgrewrite_status", call.service.save_failed ? "err" : "ok"}});
    section("Stats", {{"total_connections_received", number(totals.connections)}, {"total_commands_processed", number(totals.commands)},
        {"total_net_input_bytes", number(totals.bytes_in)}, {"total_net_output_bytes", number(totals.bytes_out)},
        {"keyspace_hits", number(store.counts.hits)}, {"keyspace_misses", number(store.counts.misses)}, {"expired_keys", number(store.counts.expired)},
        {"evicted_keys", number(store.counts.evicted)}, {"pubsub_channels", number(call.service.pubsub.channels("*").size())},
        {"pubsub_patterns", number(call.service.pubsub.patterns())}, {"sync_full", number(totals.full_syncs)}, {"sync_partial_ok", number(totals.partial_syncs)},
        {"evicted_clients", number(totals.evicted)}, {"eventloop_cycles", number(totals.rounds)}, {"guarded_keys", number(call.service.guards.keys())}, {"value_version", number(store.version())},
        {"refused", number(totals.refused)}, {"protocol_errors", number(totals.protocol_errors)}});
    section("Replication", replication_fields(call.service));
    rusage own{}, children{};
    ::getrusage(RUSAGE_SELF, &own);
    ::getrusage(RUSAGE_CHILDREN, &children);
    section("CPU", {{"used_cpu_sys", seconds(own.ru_stime)}, {"used_cpu_user", seconds(own.ru_utime)},
        {"used_cpu_sys_children", seconds(children.ru_stime)}, {"used_cpu_user_children", seconds(children.ru_utime)}});
    section("Cluster", {{"cluster_enabled", call.service.cluster.on() ? "1" : "0"}});
    section("Keyspace", {{"db0", store.size() == 0 ? "" : "keys=" + number(store.size()) + ",expires=" + number(store.expiring()) + ",avg_ttl=0"}});
    call.out.verbatim(text);
}

void command(Call& call) {
    if (call.size() == 1 || (same_word(call[1], "INFO") && call.size() == 2)) {
        call.out.array(all_commands().size());
        for (const Command& each : all_commands()) describe_command(call, each);
    } else if (same_word(call[1], "COUNT") && call.size() == 2) {
        call.out.integer(static_cast<std::int64_t>(all_commands().size()));
    } else if (same_word(call[1], "DOCS")) {
        call.out.map(0);
    } else if (same_word(call[1], "GETKEYS")) {
        tell_keys(call);
    } else if (same_word(call[1], "LIST")) {
        list_commands(call);
    } else if (same_word(call[1], "INFO")) {
        call.out.array(call.size() - 2);
        for (const std::string_view name : call.words.subspan(2)) {
            const Command* named = find_command(name);
            named == nullptr ? call.out.null_array() : describe_command(call, *named);
        }
    } else {
        call.out.error("ERR unknown subcommand or wrong number of arguments for 'command' command");
    }
}

void save(Call& call) {
    if (!can_save(call)) return;
    const std::string error = call.service.save(true);
    error.empty() ? call.out.ok() : call.out.error("ERR " + error);
}

void bgsave(Call& call) {
    if (call.size() > 2 || (call.size() == 2 && !same_word(call[1], "SCHEDULE"))) return call.out.error(bad_syntax);
    if (!can_save(call)) return;
    if (call.session.acting) {  // the log's record of the transaction is not whole yet
        call.service.save_due = true;
        return call.out.simple("Background saving scheduled");
    }
    const std::string error = call.service.save(false);
    call.service.save_failed |= !error.empty();
    error.empty() ? call.out.simple("Background saving started") : call.out.error("ERR " + error);
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
