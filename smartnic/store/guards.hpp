// SPDX-License-Identifier: Apache-2.0
// Keys that are served elsewhere as well: from a device's table, by a switch. Whoever serves them is a guard: a connection that
// is told of each change of its keys, and no answer that may have seen a change leaves until all guards of the key say that
// what they serve is the new value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
        const auto found = of_.find(std::string(key));
        if (found == of_.end()) return;
        keys_ -= std::erase(found->second, guard);
        if (found->second.empty()) of_.erase(found);
    }
    // The guard serves nothing any more.
    void leave(Connection guard) {
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
        const auto found = members_.find(guard);
        if (found == members_.end()) return;
        found->second.released = std::max(found->second.released, std::min(number, found->second.told));
        rose_ = true;
    }

    // A key changes; or all do, where it is null.
    void change(const std::string_view* key) {
        ++number_;
        if (key == nullptr) {
            for (auto& [guard, member] : members_) tell(guard, member, {}, true);
        } else if (const auto found = of_.find(std::string(*key)); found != of_.end()) {
            for (const Connection guard : found->second) tell(guard, members_[guard], *key, false);
        } else {
            --number_;  // which nobody guards
        }
    }

    [[nodiscard]] bool empty() const { return members_.empty(); }
    [[nodiscard]] std::size_t keys() const { return keys_; }
    // Number of the last change that a guard is sent.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    // The last change up to which all guards have released everything.
    [[nodiscard]] std::uint64_t released() const {
        std::uint64_t least = number_;
        for (const auto& [guard, member] : members_)
            if (member.released < member.told) least = std::min(least, member.released);
        return least;
    }
    // Whether `released` may have risen since the last call.
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
    struct Member {
        std::uint64_t told = 0, released = 0;  // numbers of changes
    };

    void tell(Connection guard, Member& member, std::string_view key, bool all) {
        // What was released before counts up to here: changes in between were of others' keys.
        if (member.released == member.told) member.released = number_ - 1;
        member.told = number_;
        notices_.push_back({guard, number_, std::string(key), all});
    }

    std::unordered_map<std::string, std::vector<Connection>> of_;
    std::map<Connection, Member> members_;
    std::vector<Notice> notices_;
    std::uint64_t number_ = 0;
    std::size_t keys_ = 0;
    bool rose_ = false;
};

}  // namespace offramp::store
