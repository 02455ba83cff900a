// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <vector>

namespace offramp::store {
namespace {

constexpr int tidy_buckets = 256;  // of one `tidy`
constexpr int most_evicted = 128;  // of one `make_room`
constexpr std::size_t step_buckets = 1024;
constexpr std::size_t swept_buckets = 64;  // at a time: each has some entries to free

std::int64_t monotonic_ns() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

Store::Store(const Limits& limits) : limits_(limits), eviction_(static_cast<std::uint64_t>(monotonic_ns())), began_ns_(monotonic_ns()) {
    if (::getrandom(&seed_, sizeof seed_, 0) != sizeof seed_) seed_.first = static_cast<std::uint64_t>(began_ns_);
    using namespace std::chrono;
    ahead_ns_ = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() - began_ns_;
    look_at_clock();
    version_ = static_cast<std::uint64_t>(now_ms_) << 20;  // none that an earlier process gave out
}

Store::~Store() {
    forget_all();
    while (sweep(step_buckets)) {}
}

void Store::look_at_clock() {
    now_ms_ = (ahead_ns_ + monotonic_ns()) / 1'000'000;
}

Entry* Store::find(std::uint64_t hash, std::string_view key) {
    if (looked_up) [[unlikely]] looked_up(key);
    Entry* entry = index_.find(hash, key);
    if (entry == nullptr) return nullptr;
    if (expired(entry)) [[unlikely]] {
        if (!follows) drop_expired(entry);
        return nullptr;
    }
    if (eviction_.tracks()) entry->use = eviction_.used(entry->use, now_ms_);
    return entry;
}

void Store::drop_expired(Entry* entry) {
    report(Event::expiry, entry->key());
    ++counts.expired;
    // A log needs no record of it: whoever reads it has a clock. Those who follow must not act before this store.
    if (feed_ != nullptr) feed_->add({Kind::erase, 0, 0, entry->key(), {}});
    drop(entry);
}

bool Store::evict() {
    Entry* entry = eviction_.victim(index_, ending_, now_ms_);
    if (entry == nullptr || (log_ != nullptr && !log_->reserve(record_header + change_header + entry->key_length))) return false;
    report(Event::eviction, entry->key());
    ++counts.evicted;
    record({Kind::erase, 0, 0, entry->key(), {}});
    drop(entry);
    return true;
}

bool Store::make_room(std::size_t more, bool whole) {
    for (int i = 0; full(more); ++i) {
        if (i == most_evicted && !whole) return true;
        if (forgotten_bytes_ != 0) sweep(swept_buckets);
        else if (!evict()) return false;
    }
    return true;
}

void Store::require_memory(std::size_t keys, std::size_t bytes) const {
    constexpr std::size_t slack = std::size_t{64} << 10;
    // Written to a volatile: a compiler may leave out an allocation that nobody uses.
    void* volatile probe = std::malloc(slack + bytes + keys * (sizeof(Entry) + 2 * Index::most_per_key) + index_.growth(keys) + ending_.growth(keys));
    if (probe == nullptr) throw std::bad_alloc();
    std::free(probe);
}

Entry* Store::set(std::string_view key, std::string_view value, std::int64_t expires_ms, std::uint32_t flags) {
    const std::uint64_t code = hash(key);
    Entry* old = index_.find(code, key);
    if (old != nullptr && expired(old)) drop_expired(old), old = nullptr;
    if (changed) changed({Event::set, key, old, expires_ms});
    Entry* entry = put(old, code, key, value, expires_ms, flags);
    record({Kind::set, flags, expires_ms, entry->key(), entry->value()});
    return entry;
}

Entry* Store::put(Entry* old, std::uint64_t hash, std::string_view key, std::string_view value, std::int64_t expires_ms,
                  std::uint32_t flags) {
    Entry* entry = old;
    if (old == nullptr) {
        entry = Entry::make(hash, key, value.size());
        insert(entry, expires_ms);
        entry->use = eviction_.fresh(now_ms_);
    } else {
        // An entry that is much too long is freed; one that is a little longer is reused.
        const std::size_t room = old->room();
        std::unique_ptr<Entry, void (*)(Entry*)> other(nullptr, Entry::free);
        if (room < value.size() || room / 2 > value.size() + 64 || pins.holds(old)) other.reset(Entry::make(hash, key, value.size()));
        set_expiry(old, expires_ms);  // without memory for it, nothing has changed
        if (other) replace(old, entry = other.release());
        entry->use = eviction_.used(old->use, now_ms_);
    }
    if (!value.empty()) std::memmove(entry->value_bytes(), value.data(), value.size());
    if (old != nullptr && old != entry) pins.free(old);
    entry->value_length = static_cast<std::uint32_t>(value.size());
    entry->flags = flags;
    entry->version = ++version_;
    return entry;
}

// Puts in a new entry; without memory for it, it is freed and nothing has changed.
void Store::insert(Entry* entry, std::int64_t expires_ms) {
    try {
        set_expiry(entry, expires_ms);
        index_.insert(entry);
    } catch (...) {
        if (entry->expires_ms != 0) ending_.remove(entry);
        Entry::free(entry);
        throw;
    }
    bytes_ += entry->footprint();
}

// Puts an entry in the place of another with its key, whose memory stays the caller's.
void Store::replace(Entry* old, Entry* with) {
    index_.replace(old, with);
    if (old->expires_ms != 0) ending_.replace(old, with);
    with->expires_ms = old->expires_ms;
    bytes_ = bytes_ + with->footprint() - old->footprint();
}

Entry* Store::splice(Entry* entry, std::uint32_t offset, std::string_view data) {
    report(Event::splice, entry->key());
    entry = write(entry, offset, data);
    record({Kind::splice, offset, 0, entry->key(), data});
    return entry;
}

Entry* Store::write(Entry* entry, std::uint32_t offset, std::string_view data) {
    const std::size_t end = offset + data.size();
    if (end > entry->room() || pins.holds(entry)) {
        const std::size_t length = std::max<std::size_t>(end, entry->value_length);
        Entry* longer = Entry::make(entry->hash, entry->key(), std::min<std::size_t>(length + length / 4, limits_.value + length / 8));
        std::memcpy(longer->value_bytes(), entry->value_bytes(), entry->value_length);
        longer->value_length = entry->value_length;
        longer->flags = entry->flags;
        longer->use = entry->use;
        replace(entry, longer);
        pins.free(entry);
        entry = longer;
    }
    if (offset > entry->value_length) std::memset(entry->value_bytes() + entry->value_length, 0, offset - entry->value_length);
    if (!data.empty()) std::memcpy(entry->value_bytes() + offset, data.data(), data.size());
    entry->value_length = std::max(entry->value_length, static_cast<std::uint32_t>(end));
    entry->version = ++version_;
    return entry;
}

void Store::expire(Entry* entry, std::int64_t expires_ms) {
    report(expires_ms == 0 ? Event::persist : Event::expire, entry->key());
    set_expiry(entry, expires_ms);
    record({Kind::expire, 0, expires_ms, entry->key(), {}});
}

void Store::set_expiry(Entry* entry, std::int64_t expires_ms) {
    if (expires_ms != 0 && entry->expires_ms == 0) ending_.insert(entry);
    if (expires_ms == 0 && entry->expires_ms != 0) ending_.remove(entry);
    entry->expires_ms = expires_ms;
}

void Store::erase(Entry* entry) {
    report(Event::erase, entry->key());
    record({Kind::erase, 0, 0, entry->key(), {}});
    drop(entry);
}

bool Store::erase(std::string_view key) {
    Entry* entry = find(key);
    if (entry != nullptr) erase(entry);
    return entry != nullptr;
}

void Store::drop(Entry* entry) {
    index_.remove(entry);
    if (entry->expires_ms != 0) ending_.remove(entry);
    bytes_ -= entry->footprint();
    ++version_;
    pins.free(entry);
}

void Store::clear() {
    report(Event::clear, {});
    forget_all();
    ++version_;
    record({Kind::clear, 0, 0, {}, {}});
}

void Store::forget_all() {
    ending_.clear();
    index_.clear();
    forgotten_bytes_ += bytes_;
    bytes_ = 0;
}

// Frees some of what a `clear` has removed; whether there is more.
bool Store::sweep(std::size_t buckets) {
    const bool entries = index_.sweep(buckets, [this](Entry* each) {
        forgotten_bytes_ -= each->footprint();
        pins.free(each);
    });
    return ending_.sweep(buckets, [](Entry*) {}) || entries;
}

bool Store::tidy() {
    index_.step(step_buckets);
    ending_.step(step_buckets);
    const bool sweeping = sweep(swept_buckets);
    if (follows) return sweeping;
    const bool more = drop_some_expired(), evicting = full() && make_room(0) && full();
    seal();
    return more || evicting || sweeping;
}

// Whether there is probably more: a quarter of what was seen had expired.
bool Store::drop_some_expired() {
    if (ending_.size() == 0) return false;
    std::vector<Entry*> gone;
    std::size_t seen = 0, dropped = 0;
    for (int i = 0; i < tidy_buckets; ++i) {
        tidied_ = ending_.scan(tidied_, [&](Entry* entry) {
            ++seen;
            if (expired(entry)) gone.push_back(entry);
        });
        for (Entry* entry : gone) drop_expired(entry);
        dropped += gone.size();
        gone.clear();
        if (tidied_ == 0) return false;
    }
    return 4 * dropped > seen;
}

bool Store::follow(const Change& change) {
    constexpr Event events[] = {Event::clear, Event::set, Event::erase, Event::splice, Event::expire, Event::clear};
    if (const auto kind = static_cast<std::size_t>(change.kind); kind > 0 && kind < std::size(events)) report(events[kind], change.key);
    if (!apply(change)) return false;
    if (change.kind != Kind::end) record(change);
    return true;
}

bool Store::apply(const Change& change) {
    const std::uint64_t code = hash(change.key);
    Entry* entry = index_.find(code, change.key);
    switch (change.kind) {
        case Kind::set:
            put(entry, code, change.key, change.value, change.expires_ms, change.flags);
            return true;
        case Kind::erase:
            if (entry != nullptr) drop(entry);
            return true;
        case Kind::splice:
            if (entry == nullptr || change.flags > limits_.value) return false;
            write(entry, change.flags, change.value);
            return true;
        case Kind::expire:
            if (entry == nullptr) return false;
            set_expiry(entry, change.expires_ms);
            return true;
        case Kind::clear:
            forget_all();
            return true;
        default:
            return change.kind == Kind::end;
    }
}

}  // namespace offramp::store
