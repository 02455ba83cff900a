// SPDX-License-Identifier: Apache-2.0
// A hash table of entries that grows a bucket at a time: no operation ever waits for all of it.
//
// A bucket is a line of 64 bytes: seven slots, each the top 16 bits of a key's hash and the 48 of an entry's address, and a
// link to an overflow bucket. While the table grows, a bucket lies whole in the old array or whole in the new one, so that a
// look-up reads one of them. `scan` visits buckets in the order of their reversed bits, which growth does not disturb: what is
// there throughout a scan is seen at least once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "entry.hpp"

namespace offramp::store {

class Index {
  public:
    Index();
    ~Index();
    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;

    using Slot = std::uint64_t;

    [[nodiscard]] Entry* find(std::uint64_t hash, std::string_view key) const {
        const Slot* slot = slot_of(hash, key);
        return slot == nullptr ? nullptr : entry(*slot);
    }
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&bucket_of(hash)); }
    // Puts in an entry whose key is not there.
    void insert(Entry* added);
    // Puts an entry in the place of another with its key.
    void replace(const Entry* old, Entry* with);
    // Takes an entry out; whose memory stays the caller's.
    void remove(const Entry* entry);
    // Forgets all entries and begins with a small table; `sweep` gives back what the old one holds.
    void clear();
    // Gives back the memory of up to `buckets` buckets that were forgotten; `forgotten` gets what is in them, which is the caller's
    // to free. Whether there are more.
    bool sweep(std::size_t buckets, const std::function<void(Entry*)>& forgotten);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t footprint() const;
    // Bytes of the larger table that so many new keys would need; 0: this one has room.
    [[nodiscard]] std::size_t growth(std::size_t keys) const;
    static constexpr std::size_t most_per_key = 128;  // bytes of a bucket that overflows, with what malloc keeps beside it
    // Moves up to `buckets` buckets to the new array, if it grows.
    void step(std::size_t buckets);

    // Calls `see` for what is in the bucket of a cursor; the next cursor, 0 at the end. `see` may not change the index.
    std::uint64_t scan(std::uint64_t cursor, const std::function<void(Entry*)>& see) const;
    // Calls `see` for about `count` entries from a random place on; none where it is empty.
    void sample(std::uint64_t random, std::size_t count, const std::function<void(Entry*)>& see) const;
    // All entries, in no order.
    void each(const std::function<void(Entry*)>& see) const;

  private:
    static constexpr unsigned slots = 7;
    struct alignas(64) Bucket {
        std::array<Slot, slots> slot;
        Bucket* more;
    };
    struct Array {
        Bucket* buckets = nullptr;
        std::size_t count = 0;  // a power of two
    };

    static constexpr std::uint64_t address_mask = (std::uint64_t{1} << 48) - 1;
    [[nodiscard]] static Entry* entry(Slot slot) { return reinterpret_cast<Entry*>(slot & address_mask); }
    [[nodiscard]] static Slot slot_for(const Entry* of) {
        return reinterpret_cast<Slot>(of) | of->hash >> 48 << 48;
    }

    [[nodiscard]] Bucket& bucket_of(std::uint64_t hash) const {
        const std::size_t before = hash & (now_.count - 1);
        if (next_.count != 0 && before < moved_) return next_.buckets[hash & (next_.count - 1)];
        return now_.buckets[before];
    }
    [[nodiscard]] const Slot* slot_of(std::uint64_t hash, std::string_view key) const {
        for (const Bucket* bucket = &bucket_of(hash); bucket != nullptr; bucket = bucket->more)
            for (const Slot& slot : bucket->slot)
                if (slot >> 48 == hash >> 48 && slot != 0 && entry(slot)->hash == hash && entry(slot)->key() == key)
                    return &slot;
        return nullptr;
    }
    [[nodiscard]] Slot* slot_holding(const Entry* entry) const;

    static Array allocate(std::size_t count);
    void put(Bucket& bucket, Slot slot);
    void grow();
    void move(Bucket& bucket);
    static void see_bucket(const Bucket& bucket, const std::function<void(Entry*)>& see);

    // An array that was forgotten, whose first buckets are given back.
    struct Forgotten {
        Array array;
        std::size_t at;
    };

    Array now_, next_;
    std::size_t moved_ = 0, size_ = 0, overflows_ = 0;
    std::vector<Forgotten> forgotten_;
};

}  // namespace offramp::store
