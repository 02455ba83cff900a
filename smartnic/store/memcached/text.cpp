// SPDX-License-Identifier: Apache-2.0
// memcached's text commands.
#include <unistd.h>

#include "memcached/session.hpp"
#include "numbers.hpp"

namespace offramp::store::memcached {
namespace {


void append_item(Answer& out, Store& store, const Entry* entry, bool unique) {
    out.append("VALUE ").append(entry->key()).push_back(' ');
    append_number(out, entry->flags);
    out.push_back(' ');
    append_number(out, entry->value_length);
    if (unique) {
        out.push_back(' ');
        append_number(out, entry->version);
    }
    out.append("\r\n").append(store.pins, entry, entry->value());
    out.append("\r\n");
}

}  // namespace

bool parse_counter(std::string_view text, std::uint64_t& to) {
    const std::size_t first = text.find_first_not_of('0');
    if (first == std::string_view::npos) return to = 0, !text.empty();
    return text[first] != '-' && parse_number(text.substr(first), to);
}

void append_counter(Store& store, Entry* entry, std::uint64_t number) {
    std::string text;
    append_number(text, number);
    store.set(entry->key(), text, entry->expires_ms, entry->flags);
}

void MemcachedSession::retrieve(Answer& out, std::size_t first, bool unique, bool touches) {
    Store& store = service_.store;
    std::int64_t time = 0;
    if (words_.size() <= first) return void(out.append("ERROR\r\n"));
    if (touches && !parse_number(words_[1], time)) return void(out.append("CLIENT_ERROR invalid exptime argument\r\n"));
    if (touches && !may_change(most_key * 2 * words_.size(), false, out)) return;
    const std::uint64_t before = out.position();
    for (std::size_t i = first; i < words_.size(); ++i) {
        if (!good_key(words_[i])) {
            out.cut(before);
            return void(out.append(bad_format));
        }
        Entry* entry = store.find(words_[i]);
        ++(entry == nullptr ? store.counts.misses : store.counts.hits);
        if (entry == nullptr) continue;
        if (out.waiting() + entry->value_length > most_answer) {
            out.cut(before);
            return void(out.append("SERVER_ERROR the answer is longer than 67108864 bytes\r\n"));
        }
        append_item(out, store, entry, unique);
        if (touches) ++store.counts.touches, store.expire(entry, end_of(store, time));
    }
    out.append("END\r\n");
}

void MemcachedSession::store_value(std::string_view data, Answer& out) {
    Store& store = service_.store;
    const std::string_view name = words_[0];
    const bool checks = name == "cas";
    std::uint32_t flags = 0;
    std::int64_t time = 0;
    std::uint64_t unique = 0;
    if (words_.size() < (checks ? 6u : 5u)) return void(out.append(bad_format));  // more of them are nothing
    const std::string_view key = words_[1];
    if (!good_key(key) || !parse_number(words_[2], flags) || !parse_number(words_[3], time) ||
        (checks && !parse_number(words_[5], unique)))
        return void(out.append(bad_format));
    ++store.counts.sets;
    if (!may_change(data.size() + (name == "prepend" ? length_of(key) : 0), true, out)) return name == "set" ? drop_old(key) : void();
    Entry* old = store.find(key);
    const bool joins = name == "append" || name == "prepend";
    if (checks && old == nullptr) return void(out.append("NOT_FOUND\r\n"));
    if (checks && old->version != unique) return void(out.append("EXISTS\r\n"));
    if ((name == "add" && old != nullptr) || ((name == "replace" || joins) && old == nullptr))
        return void(out.append("NOT_STORED\r\n"));
    if (joins && old->value_length + data.size() > store.limits().value)
        return void(out.append("SERVER_ERROR object too large for cache\r\n"));
    if (name == "append") {
        store.splice(old, old->value_length, data);
    } else if (name == "prepend") {
        store.set(key, std::string(data).append(old->value()), old->expires_ms, old->flags);
    } else {
        store.set(key, data, end_of(store, time), flags);
    }
    out.append("STORED\r\n");
}

void MemcachedSession::remove(Answer& out) {
    if (words_.size() < 2 || words_.size() > 3 || !good_key(words_[1]) || (words_.size() == 3 && words_[2] != "0"))
        return void(out.append(words_.size() < 2 ? "ERROR\r\n" : bad_format));
    if (!may_change(0, false, out)) return;
    out.append(service_.store.erase(words_[1]) ? "DELETED\r\n" : "NOT_FOUND\r\n");
}

void MemcachedSession::count(Answer& out, bool up) {
    std::uint64_t delta = 0, number = 0;
    if (words_.size() != 3) return void(out.append("ERROR\r\n"));
    if (!good_key(words_[1])) return void(out.append(bad_format));
    if (!parse_number(words_[2], delta)) return void(out.append("CLIENT_ERROR invalid numeric delta argument\r\n"));
    if (!may_change(0, true, out)) return;
    Entry* entry = service_.store.find(words_[1]);
    if (entry == nullptr) return void(out.append("NOT_FOUND\r\n"));
    if (!parse_counter(entry->value(), number))
        return void(out.append("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"));
    number = up ? number + delta : number - std::min(number, delta);
    append_counter(service_.store, entry, number);
    append_number(out, number);
    out.append("\r\n");
}

void MemcachedSession::touch(Answer& out) {
    std::int64_t time = 0;
    if (words_.size() != 3) return void(out.append("ERROR\r\n"));
    if (!good_key(words_[1])) return void(out.append(bad_format));
    if (!parse_number(words_[2], time)) return void(out.append("CLIENT_ERROR invalid exptime argument\r\n"));
    if (!may_change(0, false, out)) return;
    ++service_.store.counts.touches;
    Entry* entry = service_.store.find(words_[1]);
    if (entry != nullptr) service_.store.expire(entry, end_of(service_.store, time));
    out.append(entry != nullptr ? "TOUCHED\r\n" : "NOT_FOUND\r\n");
}

void MemcachedSession::flush(Answer& out) {
    std::int64_t delay = 0;
    if (words_.size() > 2) return void(out.append(bad_format));
    if (words_.size() == 2 && !parse_number(words_[1], delay)) return void(out.append("CLIENT_ERROR invalid exptime argument\r\n"));
    if (!may_change(0, false, out)) return;
    flush_after(delay);
    out.append("OK\r\n");
}

void MemcachedSession::flush_after(std::int64_t delay_s) {
    ++service_.store.counts.flushes;
    if (delay_s > 0)
        service_.flush_at_ms = end_of(service_.store, delay_s);
    else
        service_.store.clear();
}

void MemcachedSession::stats(Answer& out) {
    if (words_.size() > 1) {
        if (words_[1] == "reset") service_.store.counts = {};
        return void(out.append(words_[1] == "reset" ? "RESET\r\n" : "END\r\n"));
    }
    each_stat([&](std::string_view name, std::string_view value) {
        out.append("STAT ").append(name).append(" ").append(value).append("\r\n");
    });
    out.append("END\r\n");
}

void MemcachedSession::each_stat(const std::function<void(std::string_view name, std::string_view value)>& see) const {
    const Store& store = service_.store;
    const auto number = [&](const char* name, std::uint64_t value) { see(name, std::to_string(value)); };
    number("pid", static_cast<std::uint64_t>(::getpid()));
    number("uptime", static_cast<std::uint64_t>(store.now_ms() - service_.began_ms) / 1000);
    number("time", static_cast<std::uint64_t>(store.now_ms()) / 1000);
    see("version", version);
    number("pointer_size", 64);
    number("curr_connections", service_.totals.open);
    number("total_connections", service_.totals.connections);
    number("cmd_total", service_.totals.commands);
    number("cmd_get", store.counts.hits + store.counts.misses);
    number("cmd_set", store.counts.sets);
    number("cmd_flush", store.counts.flushes);
    number("cmd_touch", store.counts.touches);
    number("get_hits", store.counts.hits);
    number("get_misses", store.counts.misses);
    number("bytes_read", service_.totals.bytes_in);
    number("bytes_written", service_.totals.bytes_out);
    number("limit_maxbytes", store.limits().memory);
    number("threads", 1);
    number("bytes", store.used());
    number("curr_items", store.size());
    number("reclaimed", store.counts.expired);
    number("evictions", store.counts.evicted);
}

}  // namespace offramp::store::memcached
