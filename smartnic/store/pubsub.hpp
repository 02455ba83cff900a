// SPDX-License-Identifier: Apache-2.0
// Channels and patterns of channels, and the sessions that listen to them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "answer.hpp"
#include "hash.hpp"

namespace offramp::store {

class Session;

class PubSub {
  public:
    // A message on its way, as its receiver reads it.
    struct Posted {
        Session* to;
        Answer bytes;
    };
    using Listeners = std::vector<Session*>;

    void subscribe(Session& session, std::string_view channel) { channels_[std::string(channel)].push_back(&session); }
    void unsubscribe(Session& session, std::string_view channel) { leave(channels_, session, channel); }
    void subscribe_pattern(Session& session, std::string_view pattern) { patterns_[std::string(pattern)].push_back(&session); }
    void unsubscribe_pattern(Session& session, std::string_view pattern) { leave(patterns_, session, pattern); }

    // Sends a message to all who listen; how many they are.
    std::size_t publish(std::string_view channel, std::string_view text);
    [[nodiscard]] bool posted() const { return !posted_.empty(); }
    [[nodiscard]] std::vector<Posted> take_posted() { return std::exchange(posted_, {}); }
    // The session is no more; it has unsubscribed.
    void forget(const Session& session) {
        std::erase_if(posted_, [&](const Posted& each) { return each.to == &session; });
    }

    [[nodiscard]] bool empty() const { return channels_.empty() && patterns_.empty(); }
    [[nodiscard]] std::size_t patterns() const { return patterns_.size(); }
    [[nodiscard]] std::size_t listeners(std::string_view channel) const {
        const auto entry = channels_.find(channel);
        return entry == channels_.end() ? 0 : entry->second.size();
    }
    [[nodiscard]] std::vector<std::string_view> channels(std::string_view pattern) const;

  private:
    using ByName = std::unordered_map<std::string, Listeners, KeyHash, std::equal_to<>>;

    static void leave(ByName& from, Session& session, std::string_view name) {
        const auto entry = from.find(name);
        if (entry == from.end()) return;
        std::erase(entry->second, &session);
        if (entry->second.empty()) from.erase(entry);
    }

    ByName channels_, patterns_;
    std::vector<Posted> posted_;
};

}  // namespace offramp::store
