// SPDX-License-Identifier: Apache-2.0
// Keys that are served elsewhere as well: from a device's table, by a switch. Whoever serves them is a guard: a connection that
// is told of each change of its keys. No answer that may have seen a change leaves while the change is pending: until all guards
// of the key have released it, or have been late and are closed. Answers that have seen other keys do not wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hash.hpp"

namespace offramp::store {

class Guards {
  public:
    using Connection = std::uint64_t;
    struct Notice {
        Connection to;
        std::uint64_t number;
        std::string key;
        bool all;  // every key is gone
    };
    static constexpr std::size_t most_keys = std::size_t{1} << 20;

    // False: there are too many.
    bool add(Connection guard, std::string_view key) {
        if (keys_ == most_keys) return false;
        auto& all = of_[std::string(key)];
        if (std::find(all.begin(), all.end(), guard) == all.end()) {
            all.push_back(guard);
            ++keys_;
        }
        members_.try_emplace(guard);
        return true;
    }
    void remove(Connection guard, std::string_view key) {
        const auto entry = of_.find(key);
        if (entry == of_.end()) return;
        keys_ -= std::erase(entry->second, guard);
        if (entry->second.empty()) of_.erase(entry);
    }
    // The guard serves nothing any more.
    void leave(Connection guard) {
        release(guard, number_);
        if (members_.erase(guard) == 0) return;
        for (auto each = of_.begin(); each != of_.end();) {
            keys_ -= std::erase(each->second, guard);
            each = each->second.empty() ? of_.erase(each) : std::next(each);
        }
        std::erase_if(notices_, [guard](const Notice& each) { return each.to == guard; });
        rose_ = true;
    }
    // All changes up to a number are what the guard serves.
    void release(Connection guard, std::uint64_t number) {
        const auto member = members_.find(guard);
        if (member == members_.end()) return;
        for (auto& unreleased = member->second; !unreleased.empty() && unreleased.front().number <= number; unreleased.pop_front())
            settle(unreleased.front().number);
    }

    // A key changes at a time; its guards are told. Number of the change, 0 where nobody guards the key.
    std::uint64_t change(std::string_view key, std::int64_t now_ms) {
        const auto entry = of_.find(key);
        if (entry == of_.end()) return 0;
        pending_[++number_] = {entry->second.size(), std::string(key)};
        last_[std::string(key)] = number_;
        for (const Connection guard : entry->second) tell(guard, key, false, now_ms);
        return number_;
    }
    // All keys go at a time; every guard is told.
    std::uint64_t clear(std::int64_t now_ms) {
        if (members_.empty()) return 0;
        pending_[++number_] = {members_.size(), {}};
        cleared_ = number_;
        for (const auto& [guard, unreleased] : members_) tell(guard, {}, true, now_ms);
        return number_;
    }

    // Whether nothing is pending.
    [[nodiscard]] bool settled() const { return pending_.empty(); }
    [[nodiscard]] bool pending(std::uint64_t number) const { return pending_.contains(number); }
    // Adds the pending changes that a look at a key sees.
    void seen(std::string_view key, std::vector<std::uint64_t>& to) const {
        if (pending_.empty()) return;
        if (const auto change = last_.find(key); change != last_.end()) add_once(to, change->second);
        if (cleared_ != 0 && of_.contains(key)) add_once(to, cleared_);
    }
    // Adds all pending changes, which a look at all keys sees.
    void seen_all(std::vector<std::uint64_t>& to) const {
        for (const auto& [number, change] : pending_) add_once(to, number);
    }
    // Guards that have not released what they were told before a time.
    [[nodiscard]] std::vector<Connection> late(std::int64_t before_ms) const {
        std::vector<Connection> guards;
        for (const auto& [guard, unreleased] : members_)
            if (!unreleased.empty() && unreleased.front().notified_ms < before_ms) guards.push_back(guard);
        return guards;
    }

    [[nodiscard]] bool empty() const { return members_.empty(); }
    [[nodiscard]] std::size_t keys() const { return keys_; }
    // Whether a change has been settled since the last call.
    [[nodiscard]] bool rose() {
        const bool was = rose_;
        rose_ = false;
        return was;
    }
    [[nodiscard]] std::vector<Notice> take_notices() {
        std::vector<Notice> taken;
        taken.swap(notices_);
        return taken;
    }

  private:
    struct Pending {
        std::size_t guards;  // that have not released it
        std::string key;
    };
    struct Told {
        std::uint64_t number;
        std::int64_t notified_ms;
    };
    template <typename T>
    using ByKey = std::unordered_map<std::string, T, KeyHash, std::equal_to<>>;

    static void add_once(std::vector<std::uint64_t>& to, std::uint64_t number) {
        if (std::find(to.begin(), to.end(), number) == to.end()) to.push_back(number);
    }
    void tell(Connection guard, std::string_view key, bool all, std::int64_t now_ms) {
        members_[guard].push_back({number_, now_ms});
        notices_.push_back({guard, number_, std::string(key), all});
    }
    void settle(std::uint64_t number) {
        const auto change = pending_.find(number);
        if (--change->second.guards > 0) return;
        if (number == cleared_) cleared_ = 0;
        if (const auto last = last_.find(change->second.key); last != last_.end() && last->second == number) last_.erase(last);
        pending_.erase(change);
        rose_ = true;
    }

    ByKey<std::vector<Connection>> of_;
    std::unordered_map<Connection, std::deque<Told>> members_;  // with what each has yet to release
    std::unordered_map<std::uint64_t, Pending> pending_;        // by number of the change
    ByKey<std::uint64_t> last_;                                 // pending change of a key
    std::vector<Notice> notices_;
    std::uint64_t number_ = 0, cleared_ = 0;
    std::size_t keys_ = 0;
    bool rose_ = false;
};

}  // namespace offramp::store
