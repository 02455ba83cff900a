// SPDX-License-Identifier: Apache-2.0
// memcached's meta commands. Flags for stale items and for times of access (h, l, I, N of mg, R) are refused.
#include "memcached/base64.hpp"
#include "memcached/session.hpp"
#include "numbers.hpp"

namespace offramp::store::memcached {
namespace {

constexpr std::size_t most_flags = 32, most_opaque = 32;

// Requests by the flags of a command.
struct Flags {
    bool base64 = false, quiet = false, value = false, compares = false, sets_version = false, touches = false, creates = false;
    char mode = 'S';
    std::uint32_t client = 0;
    std::uint64_t compare = 0, version = 0, delta = 1, initial = 0;
    std::int64_t time = 0, create_time = 0;
    std::string_view opaque;
};

bool parse_flag(std::string_view word, Flags& to) {
    const std::string_view rest = word.substr(1);
    switch (word[0]) {
        case 'b': return to.base64 = true, rest.empty();
        case 'q': return to.quiet = true, rest.empty();
        case 'v': return to.value = true, rest.empty();
        case 'c': case 'f': case 'k': case 's': case 't': return rest.empty();
        case 'O': return to.opaque = rest, rest.size() <= most_opaque;
        case 'C': return to.compares = true, parse_number(rest, to.compare);
        case 'E': return to.sets_version = true, parse_number(rest, to.version);
        case 'F': return parse_number(rest, to.client);
        case 'T': return to.touches = true, parse_number(rest, to.time);
        case 'N': return to.creates = true, parse_number(rest, to.create_time);
        case 'D': return parse_number(rest, to.delta);
        case 'J': return parse_number(rest, to.initial);
        case 'M': return to.mode = rest.empty() ? '?' : rest[0], rest.size() == 1;
        default: return false;
    }
}

// Reads the key and the flags from word `first` on; `allowed` are those that the command knows.
bool parse_flags(const Words& words, std::size_t first, std::string_view allowed, Flags& to, std::string_view& key,
                 std::string& decoded, Answer& out) {
    if (words.size() < 2 || words.size() > first + most_flags) {
        out.append("CLIENT_ERROR bad command line format\r\n");
        return false;
    }
    for (std::size_t i = first; i < words.size(); ++i)
        if (allowed.find(words[i][0]) == std::string_view::npos || !parse_flag(words[i], to)) {
            out.append("CLIENT_ERROR invalid flag\r\n");
            return false;
        }
    key = words[1];
    if (to.base64 && parse_base64(key, decoded)) {
        key = decoded;
        if (key.size() <= most_key) return true;
    }
    if (!to.base64 && good_key(key)) return true;
    out.append("CLIENT_ERROR bad command line format\r\n");
    return false;
}

// The flags of an answer, in the order in which they were asked for, and the end of the line. An item that was not `stored`
// has the number 0.
void append_flags(Answer& out, const Words& words, std::size_t first, const Store& store, const Entry* entry, const Flags& flags,
                  bool stored = true) {
    for (std::size_t i = first; i < words.size(); ++i) {
        const char flag = words[i][0];
        const bool known = flag == 'k' || flag == 'O' || (flag == 'c' && !stored) || (entry != nullptr && std::string_view("cfst").find(flag) != std::string_view::npos);
        if (!known) continue;
        out.push_back(' ');
        out.push_back(flag);
        switch (flag) {
            case 'k': out.append(words[1]).append(flags.base64 ? " b" : ""); break;
            case 'O': out.append(words[i].substr(1)); break;
            case 'c': append_number(out, stored ? entry->version : 0); break;
            case 'f': append_number(out, entry->flags); break;
            case 's': append_number(out, entry->value_length); break;
            case 't': append_number(out, entry->expires_ms == 0 ? -1 : (entry->expires_ms - store.now_ms()) / 1000); break;
            default: break;
        }
    }
    out.append("\r\n");
}

void append_result(Answer& out, const Words& words, std::size_t first, Store& store, const Entry* entry, const Flags& flags) {
    if (flags.value && entry != nullptr) {
        out.append("VA ");
        append_number(out, entry->value_length);
    } else {
        out.append("HD");
    }
    append_flags(out, words, first, store, entry, flags);
    if (!flags.value || entry == nullptr) return;
    out.append(store.pins, entry, entry->value());
    out.append("\r\n");
}

}  // namespace

void MemcachedSession::meta_get(Answer& out) {
    Store& store = service_.store;
    Flags flags;
    std::string_view key;
    if (!parse_flags(words_, 2, "bqvcfkstOTE", flags, key, key_, out)) return;
    if (flags.touches && !may_change(0, false, out)) return;
    Entry* entry = store.find(key);
    ++(entry == nullptr ? store.counts.misses : store.counts.hits);
    if (entry == nullptr) {
        if (!flags.quiet) out.append("EN"), append_flags(out, words_, 2, store, nullptr, flags);
        return;
    }
    if (flags.touches) ++store.counts.touches, store.expire(entry, end_of(store, flags.time));
    append_result(out, words_, 2, store, entry, flags);
}

void MemcachedSession::meta_set(std::string_view data, Answer& out) {
    Store& store = service_.store;
    Flags flags;
    std::string_view key;
    if (!parse_flags(words_, 3, "bqcksfOCEFTMN", flags, key, key_, out)) return;
    const std::string_view modes = "SEAPRseapr";
    if (modes.find(flags.mode) == std::string_view::npos) return void(out.append("CLIENT_ERROR invalid mode for ms\r\n"));
    const char mode = flags.mode >= 'a' ? static_cast<char>(flags.mode - 32) : flags.mode;
    const bool joins = mode == 'A' || mode == 'P';
    const std::size_t most = data.size() + (joins ? length_of(key) : 0);
    ++store.counts.sets;
    if (most <= store.limits().value && !may_change(most, true, out)) return drop_old(key);  // which may evict keys
    Entry* old = store.find(key);
    const std::size_t length = data.size() + (joins && old != nullptr ? old->value_length : 0);
    if (length > store.limits().value) return void(out.append("SERVER_ERROR object too large for cache\r\n"));
    const char* refusal = nullptr;
    if (flags.compares && old == nullptr) refusal = "NF";
    else if (flags.compares && old->version != flags.compare) refusal = "EX";
    else if ((mode == 'E' && old != nullptr) || (mode == 'R' && old == nullptr) || (joins && old == nullptr && !flags.creates)) refusal = "NS";
    if (refusal != nullptr) {
        out.append(refusal);
        return append_flags(out, words_, 3, store, nullptr, flags, false);
    }
    Entry* entry = nullptr;
    if (joins && old != nullptr)
        entry = mode == 'A' ? store.splice(old, old->value_length, data)
                            : store.set(key, std::string(data).append(old->value()), old->expires_ms, old->flags);
    else
        entry = store.set(key, data, end_of(store, joins ? flags.create_time : flags.time), flags.client);
    if (flags.sets_version) entry->version = flags.version;
    if (flags.quiet) return;
    out.append("HD");
    append_flags(out, words_, 3, store, entry, flags);
}

void MemcachedSession::meta_delete(Answer& out) {
    Store& store = service_.store;
    Flags flags;
    std::string_view key;
    if (!parse_flags(words_, 2, "bqkOC", flags, key, key_, out) || !may_change(0, false, out)) return;
    Entry* entry = store.find(key);
    const bool wrong = entry != nullptr && flags.compares && entry->version != flags.compare;
    if (entry != nullptr && !wrong) store.erase(entry);
    if (flags.quiet && entry != nullptr && !wrong) return;
    out.append(entry == nullptr ? "NF" : wrong ? "EX" : "HD");
    append_flags(out, words_, 2, store, nullptr, flags);
}

void MemcachedSession::meta_count(Answer& out) {
    Store& store = service_.store;
    Flags flags;
    flags.mode = 'I';
    std::string_view key;
    std::uint64_t number = 0;
    if (!parse_flags(words_, 2, "bqvcktOCENDJTM", flags, key, key_, out) || !may_change(0, true, out)) return;
    const std::string_view up = "Ii+", down = "Dd-";
    if (up.find(flags.mode) == std::string_view::npos && down.find(flags.mode) == std::string_view::npos)
        return void(out.append("CLIENT_ERROR invalid mode for ma\r\n"));
    Entry* entry = store.find(key);
    if (entry == nullptr && !flags.creates) {
        out.append("NF");
        return append_flags(out, words_, 2, store, nullptr, flags);
    }
    if (entry != nullptr && flags.compares && entry->version != flags.compare && entry->value_length != 0) {
        out.append("EX");
        return append_flags(out, words_, 2, store, nullptr, flags);
    }
    std::int64_t expires_ms = 0;
    if (entry == nullptr) {
        number = flags.initial;
        expires_ms = end_of(store, flags.create_time);
    } else {
        if (!parse_counter(entry->value(), number))
            return void(out.append("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"));
        number = up.find(flags.mode) != std::string_view::npos ? number + flags.delta : number - std::min(number, flags.delta);
        expires_ms = flags.touches ? end_of(store, flags.time) : entry->expires_ms;
    }
    std::string text;
    append_number(text, number);
    entry = store.set(key, text, expires_ms, entry == nullptr ? 0 : entry->flags);
    if (flags.sets_version) entry->version = flags.version;
    if (!flags.quiet) append_result(out, words_, 2, store, entry, flags);
}

void MemcachedSession::meta_debug(Answer& out) {
    Flags flags;
    std::string_view key;
    if (!parse_flags(words_, 2, "b", flags, key, key_, out)) return;
    const Entry* entry = service_.store.find(key);
    if (entry == nullptr) return void(out.append("EN\r\n"));
    out.append("ME ").append(words_[1]).append(" exp=");
    append_number(out, entry->expires_ms == 0 ? -1 : (entry->expires_ms - service_.store.now_ms()) / 1000);
    out.append(" cas=");
    append_number(out, entry->version);
    out.append(" size=");
    append_number(out, entry->value_length);
    out.append("\r\n");
}

}  // namespace offramp::store::memcached
