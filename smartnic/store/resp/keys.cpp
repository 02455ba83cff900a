// SPDX-License-Identifier: Apache-2.0
// Commands on keys.
#include <random>

#include "resp/commands.hpp"
#include "resp/glob.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_scanned = 1 << 16;  // entries that one SCAN is asked for

void answer_bad_expiry(Call& call) {
    call.out.error("ERR invalid expire time in '" + lower(call[0]) + "' command");
}

struct When {
    bool only_new = false, only_old = false, greater = false, less = false;
};

bool when(Call& call, When& to) {
    for (const std::string_view word : call.words.subspan(3)) {
        if (same_word(word, "NX")) {
            to.only_new = true;
        } else if (same_word(word, "XX")) {
            to.only_old = true;
        } else if (same_word(word, "GT")) {
            to.greater = true;
        } else if (same_word(word, "LT")) {
            to.less = true;
        } else {
            call.out.error("ERR Unsupported option " + std::string(word.substr(0, 64)));
            return false;
        }
    }
    if (to.only_new && (to.only_old || to.greater || to.less)) {
        call.out.error("ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (to.greater && to.less) {
        call.out.error("ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

void expire_at(Call& call, bool seconds, bool from_now) {
    When only;
    if (!when(call, only)) return;
    std::int64_t number = 0;
    if (!parse_number(call[2], number)) return call.out.error(no_integer);
    const std::int64_t factor = seconds ? 1000 : 1, start = from_now ? call.store().now_ms() : 0;
    std::int64_t end = 0;
    if (__builtin_mul_overflow(number, factor, &end) || __builtin_add_overflow(end, start, &end)) return answer_bad_expiry(call);
    Entry* entry = call.store().find(call[1]);
    if (entry == nullptr) return call.out.integer(0);
    const bool ends = entry->expires_ms != 0;
    if ((only.only_new && ends) || (only.only_old && !ends) || (only.greater && (!ends || end <= entry->expires_ms)) ||
        (only.less && ends && end >= entry->expires_ms))
        return call.out.integer(0);
    if (end <= call.store().now_ms())
        call.store().erase(entry);
    else
        call.store().expire(entry, end);
    call.out.integer(1);
}

void answer_expiry(Call& call, std::int64_t start, std::int64_t unit) {
    const Entry* entry = call.store().find(call[1]);
    if (entry == nullptr) return call.out.integer(-2);
    if (entry->expires_ms == 0) return call.out.integer(-1);
    const std::int64_t left = entry->expires_ms - start;
    call.out.integer(left / unit + (unit > 1 && left % unit >= unit / 2));
}

bool rename_to(Call& call, bool only_new) {
    Entry* entry = call.store().find(call[1]);
    if (entry == nullptr) {
        call.out.error("ERR no such key");
        return false;
    }
    if (!fit(call, call[2], entry->value_length)) return false;
    if (only_new && call.store().find(call[2]) != nullptr) {
        call.out.integer(0);
        return false;
    }
    if (call[1] == call[2]) return true;
    const std::string value(entry->value());
    const auto expires_ms = entry->expires_ms;
    const auto flags = entry->flags;
    call.store().erase(entry);
    call.store().set(call[2], value, expires_ms, flags);
    return true;
}

struct ScanOptions {
    std::string_view pattern = "*";
    std::size_t count = 10;
    bool other_type = false;
};

bool scan_options(Call& call, ScanOptions& to) {
    for (std::size_t i = 2; i < call.size(); i += 2) {
        if (i + 1 == call.size()) return call.out.error(bad_syntax), false;
        if (same_word(call[i], "MATCH")) {
            to.pattern = call[i + 1];
        } else if (same_word(call[i], "COUNT")) {
            std::int64_t count = 0;
            if (!parse_number(call[i + 1], count)) return call.out.error(no_integer), false;
            if (count < 1) return call.out.error(bad_syntax), false;
            to.count = std::min(static_cast<std::size_t>(count), most_scanned);
        } else if (same_word(call[i], "TYPE")) {
            to.other_type = !same_word(call[i + 1], "STRING");
        } else {
            return call.out.error(bad_syntax), false;
        }
    }
    return true;
}

}  // namespace

std::optional<std::int64_t> end_of(Call& call, std::string_view text, bool seconds, bool from_now) {
    std::int64_t number = 0;
    if (!parse_number(text, number)) {
        call.out.error(no_integer);
        return {};
    }
    std::int64_t end = 0;
    if (number <= 0 || __builtin_mul_overflow(number, seconds ? 1000 : 1, &end) ||
        __builtin_add_overflow(end, from_now ? call.store().now_ms() : 0, &end)) {
        answer_bad_expiry(call);
        return {};
    }
    return end;
}

bool fit(Call& call, std::string_view key, std::size_t value) {
    const Limits& limits = call.store().limits();
    if (key.size() > limits.key) {
        call.out.error("ERR key is longer than " + std::to_string(limits.key) + " bytes");
        return false;
    }
    if (value > limits.value) {
        call.out.error("ERR string exceeds maximum allowed size (" + std::to_string(limits.value) + " bytes)");
        return false;
    }
    return true;
}

void del(Call& call) {
    std::int64_t count = 0;
    for (const std::string_view key : call.words.subspan(1)) count += call.store().erase(key);
    call.out.integer(count);
}

void exists(Call& call) {
    std::int64_t count = 0;
    for (const std::string_view key : call.words.subspan(1)) count += call.store().find(key) != nullptr;
    call.out.integer(count);
}

void expire(Call& call) {
    expire_at(call, true, true);
}

void pexpire(Call& call) {
    expire_at(call, false, true);
}

void expireat(Call& call) {
    expire_at(call, true, false);
}

void pexpireat(Call& call) {
    expire_at(call, false, false);
}

void ttl(Call& call) {
    answer_expiry(call, call.store().now_ms(), 1000);
}

void pttl(Call& call) {
    answer_expiry(call, call.store().now_ms(), 1);
}

void expiretime(Call& call) {
    answer_expiry(call, 0, 1000);
}

void pexpiretime(Call& call) {
    answer_expiry(call, 0, 1);
}

void persist(Call& call) {
    Entry* entry = call.store().find(call[1]);
    const bool changes = entry != nullptr && entry->expires_ms != 0;
    if (changes) call.store().expire(entry, 0);
    call.out.integer(changes);
}

void type(Call& call) {
    call.out.simple(call.store().find(call[1]) == nullptr ? "none" : "string");
}

void keys(Call& call) {
    std::size_t bytes = 0;
    std::vector<std::string_view> names;
    call.store().index().each([&](const Entry* entry) {
        if (call.store().expired(entry) || bytes > most_answer || !matches(call[1], entry->key())) return;
        names.push_back(entry->key());
        bytes += entry->key_length + 16;
    });
    if (bytes > most_answer) return call.out.error("ERR the answer is longer than 67108864 bytes: use SCAN");
    call.out.array(names.size());
    for (const std::string_view name : names) call.out.bulk(name);
}

void scan(Call& call) {
    std::uint64_t cursor = 0;
    ScanOptions options;
    if (!parse_number(call[1], cursor)) return call.out.error("ERR invalid cursor");
    if (!scan_options(call, options)) return;
    std::size_t seen = 0, buckets = 0;
    std::vector<std::string_view> names;
    do {
        cursor = call.store().index().scan(cursor, [&](const Entry* entry) {
            ++seen;
            if (!options.other_type && !call.store().expired(entry) && matches(options.pattern, entry->key()))
                names.push_back(entry->key());
        });
    } while (cursor != 0 && seen < options.count && ++buckets < 20 * options.count);
    call.out.array(2);
    call.out.bulk(std::to_string(cursor));
    call.out.array(names.size());
    for (const std::string_view name : names) call.out.bulk(name);
}

void dbsize(Call& call) {
    call.out.integer(static_cast<std::int64_t>(call.store().size()));
}

void flush(Call& call) {
    if (call.size() > 2 || (call.size() == 2 && !same_word(call[1], "ASYNC") && !same_word(call[1], "SYNC")))
        return call.out.error(bad_syntax);
    call.store().clear();
    call.out.ok();
}

void rename(Call& call) {
    if (rename_to(call, false)) call.out.ok();
}

void renamenx(Call& call) {
    if (rename_to(call, true)) call.out.integer(call[1] != call[2]);
}

void randomkey(Call& call) {
    static std::mt19937_64 random{std::random_device{}()};
    for (int i = 0; i < 100 && call.store().size() != 0; ++i) {
        std::vector<const Entry*> entries;
        std::uint64_t cursor = random();
        do {
            cursor = call.store().index().scan(cursor, [&](const Entry* entry) {
                if (!call.store().expired(entry)) entries.push_back(entry);
            });
        } while (entries.empty() && cursor != 0);
        if (!entries.empty()) return call.out.bulk(entries[random() % entries.size()]->key());
    }
    call.out.null();
}

}  // namespace offramp::store::resp
