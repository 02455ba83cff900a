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
constexpr std::size_t step_buckets = 1024;

std::int64_t monotonic_ns() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

Store::Store(const Limits& limits) : limits_(limits), began_ns_(monotonic_ns()) {
    if (::getrandom(&seed_, sizeof seed_, 0) != sizeof seed_) seed_.first = static_cast<std::uint64_t>(began_ns_);
    using namespace std::chrono;
    began_ms_ = now_ms_ = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    version_ = static_cast<std::uint64_t>(began_ms_) << 20;  // none that an earlier process gave out
}

Store::~Store() = default;

void Store::look_at_clock() {
    now_ms_ = began_ms_ + (monotonic_ns() - began_ns_) / 1'000'000;
}

Entry* Store::find(std::uint64_t hash, std::string_view key) {
    if (looked_up) [[unlikely]] looked_up(key);
    Entry* entry = index_.find(hash, key);
    if (entry == nullptr || !expired(entry)) return entry;
    drop_expired(entry);
    return nullptr;
}

void Store::drop_expired(Entry* entry) {
    if (changed) changed(Event::expiry, entry->key());
    ++counts.expired;
    drop(entry);
}

void Store::require_memory(std::size_t keys, std::size_t bytes) const {
    constexpr std::size_t slack = std::size_t{64} << 10;
    // Written to a volatile: a compiler may leave out an allocation that nobody uses.
    void* volatile probe = std::malloc(slack + bytes + keys * (sizeof(Entry) + Index::most_per_key) + index_.growth(keys));
    if (probe == nullptr) throw std::bad_alloc();
    std::free(probe);
}

Entry* Store::set(std::string_view key, std::string_view value, std::int64_t expires_ms, std::uint32_t flags) {
    const std::uint64_t code = hash(key);
    report(key);
    Entry* entry = put(index_.find(code, key), code, key, value, expires_ms, flags);
    if (log_ != nullptr) log_->add({Kind::set, flags, expires_ms, entry->key(), entry->value()});
    return entry;
}

Entry* Store::put(Entry* old, std::uint64_t hash, std::string_view key, std::string_view value, std::int64_t expires_ms,
                  std::uint32_t flags) {
    Entry* entry = old;
    // An entry that is much too long is freed; one that is a little longer is reused.
    if (old == nullptr || old->room < value.size() || old->room / 2 > value.size() + 64) {
        entry = Entry::make(hash, key, value.size());
        if (old == nullptr) {
            try {
                index_.insert(entry);
            } catch (...) {
                Entry::free(entry);
                throw;
            }
        } else {
            index_.replace(old, entry);
            entry->expires_ms = old->expires_ms;
            bytes_ -= old->footprint();
        }
        bytes_ += entry->footprint();
    }
    if (!value.empty()) std::memmove(entry->value_bytes(), value.data(), value.size());
    if (old != nullptr && old != entry) Entry::free(old);
    entry->value_length = static_cast<std::uint32_t>(value.size());
    entry->flags = flags;
    entry->version = ++version_;
    set_expiry(entry, expires_ms);
    return entry;
}

Entry* Store::splice(Entry* entry, std::uint32_t offset, std::string_view data) {
    report(entry->key());
    entry = write(entry, offset, data);
    if (log_ != nullptr) log_->add({Kind::splice, offset, 0, entry->key(), data});
    return entry;
}

Entry* Store::write(Entry* entry, std::uint32_t offset, std::string_view data) {
    const std::size_t end = offset + data.size();
    if (end > entry->room) {
        Entry* longer = Entry::make(entry->hash, entry->key(), std::min<std::size_t>(end + end / 4, limits_.value + end / 8));
        std::memcpy(longer->value_bytes(), entry->value_bytes(), entry->value_length);
        longer->value_length = entry->value_length;
        longer->flags = entry->flags;
        longer->expires_ms = entry->expires_ms;
        index_.replace(entry, longer);
        bytes_ = bytes_ + longer->footprint() - entry->footprint();
        Entry::free(entry);
        entry = longer;
    }
    if (offset > entry->value_length) std::memset(entry->value_bytes() + entry->value_length, 0, offset - entry->value_length);
    if (!data.empty()) std::memcpy(entry->value_bytes() + offset, data.data(), data.size());
    entry->value_length = std::max(entry->value_length, static_cast<std::uint32_t>(end));
    entry->version = ++version_;
    return entry;
}

void Store::expire(Entry* entry, std::int64_t expires_ms) {
    report(entry->key());
    set_expiry(entry, expires_ms);
    if (log_ != nullptr) log_->add({Kind::expire, 0, expires_ms, entry->key(), {}});
}

void Store::set_expiry(Entry* entry, std::int64_t expires_ms) {
    expiring_ = expiring_ + (expires_ms != 0) - (entry->expires_ms != 0);
    entry->expires_ms = expires_ms;
}

void Store::erase(Entry* entry) {
    report(entry->key());
    if (log_ != nullptr) log_->add({Kind::erase, 0, 0, entry->key(), {}});
    drop(entry);
}

bool Store::erase(std::string_view key) {
    Entry* entry = find(key);
    if (entry != nullptr) erase(entry);
    return entry != nullptr;
}

void Store::drop(Entry* entry) {
    index_.remove(entry);
    expiring_ -= entry->expires_ms != 0;
    bytes_ -= entry->footprint();
    ++version_;
    Entry::free(entry);
}

void Store::clear() {
    if (changed) changed(Event::clear, {});
    index_.clear();
    bytes_ = expiring_ = 0;
    ++version_;
    if (log_ != nullptr) log_->add({Kind::clear, 0, 0, {}, {}});
}

bool Store::tidy() {
    index_.step(step_buckets);
    if (expiring_ == 0) return false;
    std::vector<Entry*> gone;
    std::size_t seen = 0;
    for (int i = 0; i < tidy_buckets; ++i) {
        tidied_ = index_.scan(tidied_, [&](Entry* entry) {
            seen += entry->expires_ms != 0;
            if (expired(entry)) gone.push_back(entry);
        });
        for (Entry* entry : gone) drop_expired(entry);
        seen -= gone.size();
        gone.clear();
        if (tidied_ == 0) return false;
    }
    return seen < expiring_ / 16;
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
            index_.clear();
            bytes_ = expiring_ = 0;
            return true;
        default:
            return change.kind == Kind::end;
    }
}

}  // namespace offramp::store
