// SPDX-License-Identifier: Apache-2.0
// Which keys go when the memory is full: redis' policies, by samples. An entry's `use` is what a policy knows of it:
//
//   lru: when it was last used, in milliseconds, which come round after 49 days
//   lfu: minutes (16 bits) at which the count was last decreased, and the count (8 bits), which grows the more rarely the larger it is
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "index.hpp"

namespace offramp::store {

enum class Policy : std::uint8_t { none, all_lru, all_lfu, all_random, ending_lru, ending_lfu, ending_random, ending_ttl };

// By number of the policy, as redis calls them.
constexpr std::array<std::string_view, 8> policy_names = {"noeviction",   "allkeys-lru",  "allkeys-lfu",     "allkeys-random",
                                                          "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"};

class Eviction {
  public:
    explicit Eviction(std::uint64_t seed) : random_(seed | 1) {}

    [[nodiscard]] Policy policy() const { return policy_; }
    void policy(Policy policy) {
        policy_ = policy;
        count_ = 0;
    }
    [[nodiscard]] bool evicts() const { return policy_ != Policy::none; }
    // Whether uses of entries count.
    [[nodiscard]] bool tracks() const { return lru() || lfu(); }

    // The `use` of a new entry, and that of one that is used again.
    [[nodiscard]] std::uint32_t fresh(std::int64_t now_ms) const;
    [[nodiscard]] std::uint32_t used(std::uint32_t before, std::int64_t now_ms);
    // The entry that should go next; nullptr: the policy has none. `ending` are those that expire.
    [[nodiscard]] Entry* victim(const Index& all, const Index& ending, std::int64_t now_ms);

    std::size_t samples = 5;  // at a time, at least

  private:
    struct Candidate {
        std::uint64_t score = 0, hash = 0;
        std::string key;
    };
    static constexpr std::size_t most = 16;

    [[nodiscard]] bool lru() const { return policy_ == Policy::all_lru || policy_ == Policy::ending_lru; }
    [[nodiscard]] bool lfu() const { return policy_ == Policy::all_lfu || policy_ == Policy::ending_lfu; }
    [[nodiscard]] std::uint64_t next_random();
    // The higher, the sooner it goes.
    [[nodiscard]] std::uint64_t score(const Entry& entry, std::int64_t now_ms) const;
    void consider(const Entry& entry, std::int64_t now_ms);

    Policy policy_ = Policy::none;
    std::uint64_t random_;
    std::array<Candidate, most> candidates_;  // the best seen so far, by rising score
    std::size_t count_ = 0;
};

}  // namespace offramp::store
