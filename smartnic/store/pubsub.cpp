// SPDX-License-Identifier: Apache-2.0
#include "pubsub.hpp"

#include "resp/glob.hpp"
#include "service.hpp"

namespace offramp::store {

std::size_t PubSub::publish(std::string_view channel, std::string_view text) {
    std::size_t count = 0;
    const auto post = [&](Session* to, std::string_view pattern) {
        posted_.push_back({to, {}});
        to->message(posted_.back().bytes, pattern, channel, text);
        ++count;
    };
    if (const auto entry = channels_.find(channel); entry != channels_.end())
        for (Session* each : entry->second) post(each, {});
    for (const auto& [pattern, listeners] : patterns_)
        if (resp::matches(pattern, channel))
            for (Session* each : listeners) post(each, pattern);
    return count;
}

std::vector<std::string_view> PubSub::channels(std::string_view pattern) const {
    std::vector<std::string_view> names;
    for (const auto& [name, listeners] : channels_)
        if (resp::matches(pattern, name)) names.emplace_back(name);
    return names;
}

}  // namespace offramp::store
