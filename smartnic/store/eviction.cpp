// SPDX-License-Identifier: Apache-2.0
#include "eviction.hpp"

#include <algorithm>

namespace offramp::store {
namespace {

constexpr std::uint32_t first_count = 5;    // of a new entry: it must not go before it could be used
constexpr std::uint32_t most_count = 255, growth = 10;
constexpr std::int64_t minute_ms = 60'000;  // in which a count falls by 1

std::uint32_t minutes(std::int64_t now_ms) {
    return static_cast<std::uint32_t>(now_ms / minute_ms) & 0xFFFF;
}

std::uint32_t decayed(std::uint32_t use, std::int64_t now_ms) {
    const std::uint32_t count = use & most_count, passed = (minutes(now_ms) - (use >> 8)) & 0xFFFF;
    return count - std::min(count, passed);
}

}  // namespace

std::uint64_t Eviction::next_random() {  // xorshift64 (Marsaglia 2003)
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
}

std::uint32_t Eviction::fresh(std::int64_t now_ms) const {
    return lfu() ? minutes(now_ms) << 8 | first_count : static_cast<std::uint32_t>(now_ms);
}

std::uint32_t Eviction::used(std::uint32_t before, std::int64_t now_ms) {
    if (!lfu()) return fresh(now_ms);
    std::uint32_t count = decayed(before, now_ms);
    const std::uint64_t base = count > first_count ? count - first_count : 0;
    if (count < most_count && (next_random() >> 11) % (base * growth + 1) == 0) ++count;
    return minutes(now_ms) << 8 | count;
}

std::uint64_t Eviction::score(const Entry& entry, std::int64_t now_ms) const {
    if (lru()) return fresh(now_ms) - entry.use;
    if (lfu()) return most_count - decayed(entry.use, now_ms);
    return ~static_cast<std::uint64_t>(entry.expires_ms);
}

void Eviction::consider(const Entry& entry, std::int64_t now_ms) {
    const std::uint64_t value = score(entry, now_ms);
    if (count_ == most && value <= candidates_[0].score) return;
    const auto begin = candidates_.begin(), end = begin + static_cast<std::ptrdiff_t>(count_);
    if (std::any_of(begin, end, [&](const Candidate& each) { return each.hash == entry.hash; })) return;
    // The place of the lowest, or a free one, moves to where the new one belongs.
    const auto place = std::upper_bound(begin, end, value, [](std::uint64_t with, const Candidate& each) { return with < each.score; });
    auto to = place;
    if (count_ == most) {
        std::rotate(begin, begin + 1, place);
        --to;
    } else {
        ++count_;
        std::rotate(place, end, end + 1);
    }
    to->score = value;
    to->hash = entry.hash;
    to->key = entry.key();
}

Entry* Eviction::victim(const Index& all, const Index& ending, std::int64_t now_ms) {
    const bool every = policy_ == Policy::all_lru || policy_ == Policy::all_lfu || policy_ == Policy::all_random;
    const Index& from = every ? all : ending;
    if (!evicts() || from.size() == 0) return nullptr;
    if (policy_ == Policy::all_random || policy_ == Policy::ending_random) {
        std::array<Entry*, most> few{};
        std::size_t seen = 0;
        from.sample(next_random(), 1, [&](Entry* entry) { few[seen++ % most] = entry; });
        return few[(next_random() >> 11) % std::min(seen, most)];
    }
    while (true) {
        from.sample(next_random(), samples, [&](Entry* entry) { consider(*entry, now_ms); });
        while (count_ > 0) {
            const Candidate& best = candidates_[--count_];
            Entry* entry = from.find(best.hash, best.key);
            // One that has been used since it was seen is worth keeping.
            if (entry != nullptr && score(*entry, now_ms) >= best.score) return entry;
        }
    }
}

}  // namespace offramp::store
