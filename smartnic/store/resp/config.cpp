// SPDX-License-Identifier: Apache-2.0
// CONFIG: settings by their names in redis, and which of them may change while the store serves.
#include <algorithm>
#include <array>

#include "resp/commands.hpp"
#include "resp/glob.hpp"

namespace offramp::store::resp {
namespace {

struct Setting {
    const char* name;
    std::string (*get)(const Service&);
    // False: the value is none. No function: it cannot be set.
    bool (*set)(Service&, std::string_view);
    const char* expected = "";
};

// A number of bytes, with redis' units.
bool parse_bytes(std::string_view text, std::uint64_t& to) {
    struct Unit {
        const char* name;
        unsigned bits;
        std::uint64_t thousands;
    };
    constexpr std::array<Unit, 7> units = {{{"kb", 10, 1}, {"mb", 20, 1}, {"gb", 30, 1}, {"k", 0, 1000}, {"m", 0, 1'000'000}, {"g", 0, 1'000'000'000}, {"b", 0, 1}}};
    const std::string word = lower(text.substr(0, 32));
    for (const Unit& unit : units)
        if (word.ends_with(unit.name)) {
            const std::uint64_t factor = unit.thousands << unit.bits;
            return parse_number(std::string_view(word).substr(0, word.size() - std::string_view(unit.name).size()), to) &&
                   !__builtin_mul_overflow(to, factor, &to);
        }
    return parse_number(text, to);
}

bool set_policy(Service& service, std::string_view name) {
    const auto policy = std::find(policy_names.begin(), policy_names.end(), std::string_view(lower(name.substr(0, 32))));
    if (policy == policy_names.end()) return false;
    service.store.eviction().policy(static_cast<Policy>(policy - policy_names.begin()));
    return true;
}

bool set_samples(Service& service, std::string_view text) {
    std::uint32_t count = 0;
    if (!parse_number(text, count) || count < 1 || count > 64) return false;
    service.store.eviction().samples = count;
    return true;
}

bool set_backlog(Service& service, std::string_view text) {
    std::uint64_t bytes = 0;
    if (!parse_bytes(text, bytes) || bytes < 1 << 14 || bytes > std::uint64_t{1} << 40) return false;
    service.replication.backlog = bytes;  // of the feed that begins next
    return true;
}

bool set_events(Service& service, std::string_view letters) {
    if (!service.notifier.select(letters)) return false;
    service.attend();
    return true;
}

constexpr std::array settings = {
    Setting{"maxmemory", [](const Service& service) { return std::to_string(service.store.limits().memory); },
            [](Service& service, std::string_view text) { return parse_bytes(text, service.store.limits().memory); }, "a number of bytes"},
    Setting{"maxmemory-policy", [](const Service& service) { return std::string(policy_names[static_cast<std::size_t>(service.store.eviction().policy())]); },
            set_policy, "noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, volatile-random or volatile-ttl"},
    Setting{"maxmemory-samples", [](const Service& service) { return std::to_string(service.store.eviction().samples); }, set_samples, "1 to 64"},
    Setting{"notify-keyspace-events", [](const Service& service) { return service.notifier.letters(); }, set_events, "letters of KEg$lshzxetdnA"},
    Setting{"repl-backlog-size", [](const Service& service) { return std::to_string(service.replication.backlog); }, set_backlog, "16 KiB to 1 TiB"},
    Setting{"appendonly", [](const Service& service) { return std::string(service.store.log() == nullptr ? "no" : "yes"); }, nullptr},
    Setting{"appendfsync",
            [](const Service& service) {
                constexpr std::array names = {"always", "everysec", "no"};
                return std::string(service.store.log() == nullptr ? "no" : names[static_cast<std::size_t>(service.store.log()->policy())]);
            },
            nullptr},
    Setting{"proto-max-bulk-len", [](const Service& service) { return std::to_string(service.store.limits().value); }, nullptr},
    Setting{"databases", [](const Service&) { return std::string("1"); }, nullptr},
    // Snapshots are made on demand, or when the log has become long.
    Setting{"save", [](const Service&) { return std::string(); }, nullptr},
};

const Setting* named(std::string_view name) {
    for (const Setting& each : settings)
        if (lower(name.substr(0, 64)) == each.name) return &each;
    return nullptr;
}

void get_settings(Call& call) {
    std::vector<const Setting*> matching;
    for (const Setting& each : settings)
        for (const std::string_view pattern : call.words.subspan(2))
            if (matches(lower(pattern), each.name)) {
                matching.push_back(&each);
                break;
            }
    call.out.map(matching.size());
    for (const Setting* each : matching) call.out.bulk(each->name), call.out.bulk(each->get(call.service));
}

std::string wrong_setting(const Setting* setting, const std::string& reason) {
    return std::string("ERR CONFIG SET failed (possibly related to argument '") + setting->name + "') - " + reason;
}

// All of the settings, or none. One that cannot change may be given the value that it has.
void set_settings(Call& call) {
    const Arguments pairs = call.words.subspan(2);
    std::vector<std::pair<const Setting*, std::string>> before;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const Setting* setting = named(pairs[i]);
        const auto is = [setting](const auto& each) { return each.first == setting; };
        std::string fault;
        if (setting == nullptr)
            fault = "ERR Unknown option or number of arguments for CONFIG SET - '" + lower(pairs[i].substr(0, 64)) + "'";
        else if (std::any_of(before.begin(), before.end(), is))
            fault = wrong_setting(setting, "duplicate parameter");
        else if (before.emplace_back(setting, setting->get(call.service)); setting->set != nullptr && !setting->set(call.service, pairs[i + 1]))
            fault = wrong_setting(setting, std::string("expected ") + setting->expected);
        else if (setting->set == nullptr && pairs[i + 1] != before.back().second)
            fault = wrong_setting(setting, "can't set immutable config");
        if (fault.empty()) continue;
        for (auto each = before.rbegin(); each != before.rend(); ++each)
            if (each->first->set != nullptr) each->first->set(call.service, each->second);
        return call.out.error(fault);
    }
    call.out.ok();
}

}  // namespace

std::string setting(const Service& service, std::string_view name) {
    return named(name)->get(service);
}

void config(Call& call) {
    if (same_word(call[1], "GET") && call.size() >= 3) {
        get_settings(call);
    } else if (same_word(call[1], "SET") && call.size() >= 4 && call.size() % 2 == 0) {
        set_settings(call);
    } else if (same_word(call[1], "RESETSTAT") && call.size() == 2) {
        call.store().counts = {};
        call.service.totals.commands = call.service.totals.connections = 0;
        call.out.ok();
    } else {
        call.out.error("ERR unknown subcommand or wrong number of arguments for 'config' command");
    }
}

}  // namespace offramp::store::resp
