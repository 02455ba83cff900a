// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace offramp::store {
namespace {

constexpr std::size_t least_buckets = 128;
constexpr std::size_t full = 5;  // entries for a bucket, on average, before the table doubles
constexpr std::size_t sparse_buckets = 16;  // that a sample looks at, where there are few entries
constexpr std::size_t given_back = std::size_t{1} << 21;  // bytes of the old array at a time

std::uint64_t reversed(std::uint64_t word) {
    word = (word >> 1 & 0x5555555555555555) | (word & 0x5555555555555555) << 1;
    word = (word >> 2 & 0x3333333333333333) | (word & 0x3333333333333333) << 2;
    word = (word >> 4 & 0x0F0F0F0F0F0F0F0F) | (word & 0x0F0F0F0F0F0F0F0F) << 4;
    return __builtin_bswap64(word);
}

}  // namespace

Index::Index() : now_(allocate(least_buckets)) {}

Index::~Index() {
    forgotten_.push_back({now_, 0});
    forgotten_.push_back({next_, 0});
    while (sweep(now_.count, [](Entry*) {})) {}
}

Index::Array Index::allocate(std::size_t count) {
    void* memory = ::mmap(nullptr, count * sizeof(Bucket), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, count * sizeof(Bucket), MADV_HUGEPAGE);
    return {static_cast<Bucket*>(memory), count};
}

std::size_t Index::footprint() const {
    std::size_t buckets = now_.count + next_.count + overflows_;
    for (const Forgotten& each : forgotten_) buckets += each.array.count - each.at;
    return buckets * sizeof(Bucket);
}

std::size_t Index::growth(std::size_t keys) const {
    std::size_t bytes = 0;
    for (std::size_t count = next_.count == 0 ? now_.count : next_.count; size_ + keys >= count * full; count *= 2)
        bytes += 2 * count * sizeof(Bucket);
    return bytes;
}

void Index::insert(Entry* added) {
    if (next_.count == 0 && size_ >= now_.count * full) grow();
    step(1);
    put(bucket_of(added->hash), slot_for(added));
    ++size_;
}

void Index::put(Bucket& first, Slot slot) {
    for (Bucket* bucket = &first;; bucket = bucket->more) {
        for (Slot& each : bucket->slot)
            if (each == 0) {
                each = slot;
                return;
            }
        if (bucket->more == nullptr) {
            bucket->more = new Bucket{};
            ++overflows_;
        }
    }
}

Index::Slot* Index::slot_holding(const Entry* entry) const {
    const Slot wanted = slot_for(entry);
    for (Bucket* bucket = &bucket_of(entry->hash);; bucket = bucket->more)
        for (Slot& slot : bucket->slot)
            if (slot == wanted) return &slot;
}

void Index::replace(const Entry* old, Entry* with) {
    *slot_holding(old) = slot_for(with);
}

void Index::remove(const Entry* entry) {
    *slot_holding(entry) = 0;
    --size_;
    step(1);
}

void Index::clear() {
    const Array fresh = allocate(least_buckets);
    forgotten_.reserve(forgotten_.size() + 2);
    forgotten_.push_back({now_, next_.count == 0 ? 0 : moved_});  // what was moved is in the other one
    if (next_.count != 0) forgotten_.push_back({next_, 0});
    now_ = fresh;
    next_ = {};
    moved_ = size_ = overflows_ = 0;
}

bool Index::sweep(std::size_t buckets, const std::function<void(Entry*)>& forgotten) {
    for (; !forgotten_.empty() && buckets > 0; --buckets) {
        auto& [array, at] = forgotten_.back();
        if (at < array.count) {
            Bucket& bucket = array.buckets[at++];
            see_bucket(bucket, forgotten);
            for (Bucket* more = bucket.more; more != nullptr;) delete std::exchange(more, more->more);
            if (at * sizeof(Bucket) % given_back == 0)
                ::madvise(reinterpret_cast<char*>(array.buckets) + at * sizeof(Bucket) - given_back, given_back, MADV_DONTNEED);
        }
        if (at < array.count) continue;
        if (array.count != 0) ::munmap(array.buckets, array.count * sizeof(Bucket));
        forgotten_.pop_back();
    }
    return !forgotten_.empty();
}

void Index::grow() {
    next_ = allocate(now_.count * 2);
    moved_ = 0;
}

void Index::move(Bucket& from) {
    for (Bucket* bucket = &from; bucket != nullptr; bucket = bucket->more)
        for (Slot& slot : bucket->slot)
            if (slot != 0) put(next_.buckets[entry(slot)->hash & (next_.count - 1)], slot);
    for (Bucket* more = from.more; more != nullptr; --overflows_) delete std::exchange(more, more->more);
    from.more = nullptr;
}

void Index::step(std::size_t buckets) {
    for (; next_.count != 0 && buckets > 0; --buckets) {
        move(now_.buckets[moved_++]);
        const std::size_t done = moved_ * sizeof(Bucket);
        if (done % given_back == 0)
            ::madvise(reinterpret_cast<char*>(now_.buckets) + done - given_back, given_back, MADV_DONTNEED);
        if (moved_ < now_.count) continue;
        ::munmap(now_.buckets, now_.count * sizeof(Bucket));
        now_ = next_;
        next_ = {};
        moved_ = 0;
    }
}

void Index::see_bucket(const Bucket& first, const std::function<void(Entry*)>& see) {
    for (const Bucket* bucket = &first; bucket != nullptr; bucket = bucket->more)
        for (const Slot slot : bucket->slot)
            if (slot != 0) see(entry(slot));
}

std::uint64_t Index::scan(std::uint64_t cursor, const std::function<void(Entry*)>& see) const {
    const std::uint64_t mask = now_.count - 1, at = cursor & mask;
    if (next_.count != 0 && at < moved_) {
        see_bucket(next_.buckets[at], see);
        see_bucket(next_.buckets[at + now_.count], see);
    } else {
        see_bucket(now_.buckets[at], see);
    }
    // One is added to the reversed number of the bucket: the high bits that a larger table looks at, too, vary fastest.
    return reversed(reversed(cursor | ~mask) + 1);
}

void Index::sample(std::uint64_t random, std::size_t count, const std::function<void(Entry*)>& see) const {
    std::size_t seen = 0;
    const auto counted = [&](Entry* entry) { ++seen, see(entry); };
    const std::size_t most = now_.count + sparse_buckets;
    for (std::size_t i = 0; size_ != 0 && i < (seen == 0 ? most : sparse_buckets) && seen < count; ++i) random = scan(random, counted);
}

void Index::each(const std::function<void(Entry*)>& see) const {
    for (std::size_t i = next_.count == 0 ? 0 : moved_; i < now_.count; ++i) see_bucket(now_.buckets[i], see);
    for (std::size_t i = 0; i < next_.count; ++i) see_bucket(next_.buckets[i], see);
}

}  // namespace offramp::store
