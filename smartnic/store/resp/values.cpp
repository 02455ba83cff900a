// SPDX-License-Identifier: Apache-2.0
// Commands on values.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_float = 256;

struct SetOptions {
    bool only_new = false, only_old = false, keep_expiry = false, persist = false, old_value = false;
    bool unread = false;  // times are not looked at: there is nothing that could end
    std::int64_t expires_ms = 0;
};

// Parses EX, PX, EXAT, PXAT with their number. False, with an answer, if it is none of them or a repetition.
bool expiry_option(Call& call, std::size_t& at, SetOptions& to) {
    const std::string_view word = call[at];
    const bool seconds = same_word(word, "EX") || same_word(word, "EXAT");
    const bool from_now = same_word(word, "EX") || same_word(word, "PX");
    const bool known = seconds || from_now || same_word(word, "PXAT");
    if (!known || at + 1 == call.size() || to.expires_ms != 0 || to.keep_expiry || to.persist) {
        call.out.error(bad_syntax);
        return false;
    }
    if (to.unread) return to.expires_ms = 1, ++at, true;
    const auto end = end_of(call, call[++at], seconds, from_now);
    if (end) to.expires_ms = *end;
    return end.has_value();
}

bool set_options(Call& call, SetOptions& to) {
    for (std::size_t at = 3; at < call.size(); ++at) {
        if (same_word(call[at], "NX") && !to.only_old) {
            to.only_new = true;
        } else if (same_word(call[at], "XX") && !to.only_new) {
            to.only_old = true;
        } else if (same_word(call[at], "GET")) {
            to.old_value = true;
        } else if (same_word(call[at], "KEEPTTL") && to.expires_ms == 0) {
            to.keep_expiry = true;
        } else if (!expiry_option(call, at, to)) {
            return false;
        }
    }
    return true;
}

void answer_value(Call& call, const Entry* entry) {
    entry == nullptr ? call.out.null() : call.out.bulk(call.store().pins, entry, entry->value());
}

Entry* look_up(Call& call, std::string_view key) {
    Entry* entry = call.store().find(key);
    ++(entry == nullptr ? call.store().counts.misses : call.store().counts.hits);
    return entry;
}

void set_for(Call& call, bool seconds) {
    if (!fit(call, call[1], call[3].size())) return;
    const auto end = end_of(call, call[2], seconds, true);
    if (!end) return;
    call.store().set(call[1], call[3], *end);
    call.out.ok();
}

void add(Call& call, std::int64_t more) {
    if (!fit(call, call[1], 0)) return;
    Entry* entry = call.store().find(call[1]);
    std::int64_t number = 0;
    if (entry != nullptr && !parse_number(entry->value(), number)) return call.out.error(no_integer);
    if (__builtin_add_overflow(number, more, &number)) return call.out.error("ERR increment or decrement would overflow");
    std::string text;
    append_number(text, number);
    call.store().set(call[1], text, entry == nullptr ? 0 : entry->expires_ms, entry == nullptr ? 0 : entry->flags);
    call.out.integer(number);
}

void add_argument(Call& call, int sign) {
    std::int64_t more = 0;
    if (!parse_number(call[2], more)) return call.out.error(no_integer);
    if (sign < 0 && more == std::numeric_limits<std::int64_t>::min()) return call.out.error("ERR decrement would overflow");
    add(call, sign * more);
}

bool parse_float(std::string_view text, long double& to) {
    if (text.empty() || text.size() > most_float || text[0] == ' ') return false;
    const std::string copy(text);
    char* end = nullptr;
    to = std::strtold(copy.c_str(), &end);
    return end == copy.c_str() + copy.size() && !std::isnan(to);
}

// 17 digits behind the point at most, and no zeros at the end.
std::string written(long double number) {
    char text[5120];
    const int length = std::snprintf(text, sizeof text, "%.17Lf", number);
    std::string digits(text, static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(sizeof text) - 1)));
    if (digits.find('.') != std::string::npos) {
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.back() == '.') digits.pop_back();
    }
    return digits == "-0" ? "0" : digits;
}

// The part of a value that two places name, counted from the end where they are negative.
std::string_view part(std::string_view value, std::int64_t first, std::int64_t last) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (first < 0 && last < 0 && first > last) return {};
    first = std::max<std::int64_t>(first < 0 ? first + size : first, 0);
    last = std::min(std::max<std::int64_t>(last < 0 ? last + size : last, 0), size - 1);
    if (first > last) return {};
    return value.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1));
}

bool pairs_fit(Call& call) {
    if (call.size() % 2 == 0) {
        call.out.error(std::string("ERR wrong number of arguments for '") + lower(call[0]) + "' command");
        return false;
    }
    for (std::size_t i = 1; i < call.size(); i += 2)
        if (!fit(call, call[i], call[i + 1].size())) return false;
    return true;
}

}  // namespace

void get(Call& call) {
    answer_value(call, look_up(call, call[1]));
}

void set(Call& call) {
    SetOptions options;
    if (call.size() == 3) {
        if (!fit(call, call[1], call[2].size())) return;
        call.store().set(call[1], call[2]);
        return call.out.ok();
    }
    if (!fit(call, call[1], call[2].size()) || !set_options(call, options)) return;
    Entry* old = call.store().find(call[1]);
    const bool done = !(options.only_new && old != nullptr) && !(options.only_old && old == nullptr);
    if (options.old_value) answer_value(call, old);
    if (done) call.store().set(call[1], call[2], options.keep_expiry && old != nullptr ? old->expires_ms : options.expires_ms);
    if (!options.old_value) done ? call.out.ok() : call.out.null();
}

void setnx(Call& call) {
    if (!fit(call, call[1], call[2].size())) return;
    const bool free = call.store().find(call[1]) == nullptr;
    if (free) call.store().set(call[1], call[2]);
    call.out.integer(free);
}

void setex(Call& call) {
    set_for(call, true);
}

void psetex(Call& call) {
    set_for(call, false);
}

void getset(Call& call) {
    if (!fit(call, call[1], call[2].size())) return;
    answer_value(call, call.store().find(call[1]));
    call.store().set(call[1], call[2]);
}

void getdel(Call& call) {
    Entry* entry = look_up(call, call[1]);
    answer_value(call, entry);
    if (entry != nullptr) call.store().erase(entry);
}

void getex(Call& call) {
    SetOptions options;
    Entry* entry = look_up(call, call[1]);
    options.unread = entry == nullptr;
    for (std::size_t at = 2; at < call.size(); ++at)
        if (same_word(call[at], "PERSIST") && options.expires_ms == 0 && !options.persist)
            options.persist = true;
        else if (!expiry_option(call, at, options))
            return;
    answer_value(call, entry);
    if (entry == nullptr || call.size() == 2) return;
    if (options.persist && entry->expires_ms == 0) return;
    call.store().expire(entry, options.expires_ms);
}

void mget(Call& call) {
    std::size_t bytes = 0, copied = call.size() * 16;
    for (const std::string_view key : call.words.subspan(1)) {
        const Entry* entry = call.store().find(key);
        const std::size_t length = entry == nullptr ? 0 : entry->value_length;
        bytes += length;
        copied += length < Pins::least ? length : 0;
    }
    if (bytes > most_answer) return call.out.error("ERR the answer is longer than 67108864 bytes");
    call.out.reserve(copied);
    call.out.array(call.size() - 1);
    for (const std::string_view key : call.words.subspan(1)) answer_value(call, look_up(call, key));
}

void mset(Call& call) {
    if (!pairs_fit(call)) return;
    for (std::size_t i = 1; i < call.size(); i += 2) call.store().set(call[i], call[i + 1]);
    call.out.ok();
}

void msetnx(Call& call) {
    if (!pairs_fit(call)) return;
    for (std::size_t i = 1; i < call.size(); i += 2)
        if (call.store().find(call[i]) != nullptr) return call.out.integer(0);
    for (std::size_t i = 1; i < call.size(); i += 2) call.store().set(call[i], call[i + 1]);
    call.out.integer(1);
}

void append(Call& call) {
    Entry* entry = call.store().find(call[1]);
    const std::size_t length = (entry == nullptr ? 0 : entry->value_length) + call[2].size();
    if (!fit(call, call[1], length)) return;
    if (entry == nullptr)
        call.store().set(call[1], call[2]);
    else
        call.store().splice(entry, entry->value_length, call[2]);
    call.out.integer(static_cast<std::int64_t>(length));
}

void strlen(Call& call) {
    const Entry* entry = call.store().find(call[1]);
    call.out.integer(entry == nullptr ? 0 : entry->value_length);
}

void getrange(Call& call) {
    std::int64_t first = 0, last = 0;
    if (!parse_number(call[2], first) || !parse_number(call[3], last)) return call.out.error(no_integer);
    const Entry* entry = look_up(call, call[1]);
    entry == nullptr ? call.out.bulk({}) : call.out.bulk(call.store().pins, entry, part(entry->value(), first, last));
}

void setrange(Call& call) {
    std::int64_t offset = 0;
    if (!parse_number(call[2], offset)) return call.out.error(no_integer);
    if (offset < 0) return call.out.error("ERR offset is out of range");
    Entry* entry = call.store().find(call[1]);
    if (call[3].empty()) return call.out.integer(entry == nullptr ? 0 : entry->value_length);
    const std::size_t value = call.store().limits().value;
    if (!fit(call, call[1], static_cast<std::size_t>(offset) > value ? value + 1 : static_cast<std::size_t>(offset) + call[3].size()))
        return;
    if (entry == nullptr) entry = call.store().set(call[1], {});
    entry = call.store().splice(entry, static_cast<std::uint32_t>(offset), call[3]);
    call.out.integer(entry->value_length);
}

// CAS key expected value: 1 where the value was what was expected and is replaced, 0 where not, nil where there is no key.
void cas(Call& call) {
    if (!fit(call, call[1], call[3].size())) return;
    Entry* entry = call.store().find(call[1]);
    if (entry == nullptr) return call.out.null();
    const bool same = entry->value() == call[2];
    if (same) call.store().set(call[1], call[3], entry->expires_ms, entry->flags);
    call.out.integer(same);
}

void incr(Call& call) {
    add(call, 1);
}

void decr(Call& call) {
    add(call, -1);
}

void incrby(Call& call) {
    add_argument(call, 1);
}

void decrby(Call& call) {
    add_argument(call, -1);
}

void incrbyfloat(Call& call) {
    if (!fit(call, call[1], 0)) return;
    Entry* entry = call.store().find(call[1]);
    long double number = 0, more = 0;
    if ((entry != nullptr && !parse_float(entry->value(), number)) || !parse_float(call[2], more))
        return call.out.error("ERR value is not a valid float");
    number += more;
    if (std::isnan(number) || std::isinf(number)) return call.out.error("ERR increment would produce NaN or Infinity");
    const std::string text = written(number);
    call.store().set(call[1], text, entry == nullptr ? 0 : entry->expires_ms, entry == nullptr ? 0 : entry->flags);
    call.out.bulk(text);
}

}  // namespace offramp::store::resp
