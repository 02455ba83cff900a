// SPDX-License-Identifier: Apache-2.0
// The key-value store: what commands do, whatever protocol they came by. One thread uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "eviction.hpp"
#include "feed.hpp"
#include "hash.hpp"
#include "index.hpp"
#include "log.hpp"
#include "pins.hpp"

namespace offramp::store {

struct Limits {
    std::uint64_t memory = 0;  // bytes of keys, values and table; 0: no limit
    std::uint32_t value = 1u << 20;
    std::uint32_t key = 1u << 16;
};

enum class Event { set, splice, expire, persist, erase, expiry, eviction, clear };

// A change that is about to happen.
struct Changing {
    Event event;
    std::string_view key;          // none where all are removed
    const Entry* old = nullptr;    // of `set`: what was there
    std::int64_t expires_ms = 0;   // of `set`
};

struct Counts {
    std::uint64_t hits = 0, misses = 0, expired = 0, evicted = 0;
    std::uint64_t sets = 0, touches = 0, flushes = 0;  // of memcached's protocols
};

class Store {
  public:
    explicit Store(const Limits& limits);
    ~Store();

    // Changes go into this log from now on; none: they are forgotten when the process ends.
    void attach(Log* log) { log_ = log; }
    [[nodiscard]] Log* log() const { return log_; }
    // The same for those who follow this store.
    void attach(Feed* feed) { feed_ = feed; }
    // Ends the record of the changes since the last one: they happen together.
    void seal() {
        if (log_ != nullptr) log_->seal();
        if (feed_ != nullptr) feed_->seal();
    }

    // Milliseconds since 1970 when the process began, going on by a clock that nobody sets.
    [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
    void look_at_clock();

    [[nodiscard]] std::uint64_t hash(std::string_view key) const { return SipHash::of(seed_, key); }
    void prefetch(std::string_view key) const { index_.prefetch(hash(key)); }

    // The entry of a key, unless it has expired. Its memory is good until the next change.
    [[nodiscard]] Entry* find(std::string_view key) { return find(hash(key), key); }
    [[nodiscard]] Entry* find(std::uint64_t hash, std::string_view key);

    // Throws std::bad_alloc unless the machine has memory for so many new keys with `bytes` of keys and values, and for the log's
    // records of them: a change of several keys that begins is carried out whole.
    void require_memory(std::size_t keys, std::size_t bytes) const;

    // The entry of a key, expired or not. Nobody is told of the look.
    [[nodiscard]] const Entry* peek(std::string_view key) const { return index_.find(hash(key), key); }

    // Gives a key a value; the entry.
    Entry* set(std::string_view key, std::string_view value, std::int64_t expires_ms = 0, std::uint32_t flags = 0);
    // Writes over a part of the value of an entry that `find` has found, which may grow; new bytes in between are 0.
    Entry* splice(Entry* entry, std::uint32_t offset, std::string_view data);
    void expire(Entry* entry, std::int64_t expires_ms);
    void erase(Entry* entry);
    bool erase(std::string_view key);
    void clear();

    // Whether the memory, of which clients' buffers are a part, lets values be added: beyond `more` bytes that are certain.
    [[nodiscard]] bool full(std::size_t more = 0) const {
        return limits_.memory != 0 && used() + held() + more > limits_.memory;
    }
    // Evicts keys until the memory has room. False: the policy has no more of them, or the log has no room. Where a batch is not
    // enough this goes on in `tidy`, and meanwhile the memory is exceeded, unless `whole`.
    bool make_room(std::size_t more, bool whole = false);
    Eviction& eviction() { return eviction_; }
    [[nodiscard]] const Eviction& eviction() const { return eviction_; }

    std::size_t buffers = 0;  // bytes that clients hold: unfinished commands, transactions, answers but for values
    Pins pins;                // values that answers show
    // Bytes that are there for clients alone.
    [[nodiscard]] std::size_t held() const { return buffers + pins.left_bytes(); }
    [[nodiscard]] std::size_t used() const { return bytes_ + forgotten_bytes_ + index_.footprint() + ending_.footprint(); }
    // Version of the last change; those of entries are not above it.
    [[nodiscard]] std::uint64_t version() const { return version_; }
    [[nodiscard]] std::size_t size() const { return index_.size(); }
    [[nodiscard]] std::size_t expiring() const { return ending_.size(); }
    [[nodiscard]] const Limits& limits() const { return limits_; }
    Limits& limits() { return limits_; }
    [[nodiscard]] const Index& index() const { return index_; }
    Counts counts;

    // Called before each change; empty where nobody watches.
    std::function<void(const Changing&)> changed;
    // Called for each key that is looked up; empty where nobody guards keys.
    std::function<void(std::string_view key)> looked_up;

    // A while of work that nobody waits for: removes what has expired, evicts, moves buckets. Whether there is more to do.
    bool tidy();

    // Applies a change from a log or snapshot, without regard to the clock. False if it is malformed.
    bool apply(const Change& change);
    // Applies a change of the store that this one follows, as one of its own. False if it is malformed.
    bool follow(const Change& change);
    // A store that follows another removes nothing by itself: what has expired is hidden until the other removes it.
    bool follows = false;

    [[nodiscard]] bool expired(const Entry* entry) const {
        return entry->expires_ms != 0 && entry->expires_ms <= now_ms_;
    }

  private:
    void report(Event event, std::string_view key) const {
        if (changed) changed({event, key});
    }
    void record(const Change& change) {
        if (log_ != nullptr) log_->add(change);
        if (feed_ != nullptr) feed_->add(change);
    }
    void drop_expired(Entry* entry);
    bool drop_some_expired();
    bool evict();
    void forget_all();
    bool sweep(std::size_t buckets);
    Entry* put(Entry* old, std::uint64_t hash, std::string_view key, std::string_view value, std::int64_t expires_ms,
               std::uint32_t flags);
    void insert(Entry* entry, std::int64_t expires_ms);
    void replace(Entry* old, Entry* with);
    Entry* write(Entry* entry, std::uint32_t offset, std::string_view data);
    void set_expiry(Entry* entry, std::int64_t expires_ms);
    void drop(Entry* entry);

    Limits limits_;
    Seed seed_;
    Index index_, ending_;  // all entries, and those that expire
    Eviction eviction_;
    Log* log_ = nullptr;
    Feed* feed_ = nullptr;
    std::uint64_t version_;
    std::size_t bytes_ = 0, forgotten_bytes_ = 0;  // of entries, and of those that a `clear` has removed and that are still there
    std::uint64_t tidied_ = 0;
    std::int64_t began_ns_, ahead_ns_, now_ms_;  // ahead: of a clock that nobody sets
};

}  // namespace offramp::store
