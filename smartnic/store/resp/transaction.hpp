// SPDX-License-Identifier: Apache-2.0
// What MULTI queues, and what commands need before they may change anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::store {
class Store;
}

namespace offramp::store::resp {

struct Command;
using Arguments = std::span<const std::string_view>;

// Upper bounds of what commands take, so that it is there before the first one acts.
struct Need {
    bool writes = false, grows = false;
    std::size_t keys = 0, log = 0;
    std::size_t bytes = 0;    // of keys and values, as they were sent
    std::size_t padding = 0;  // of values, which nobody has sent
    std::size_t moves = 0;    // commands that give one key's value to another

    void add(const Command& command, Arguments words, const Store& store);
};

class Transaction {
  public:
    void add(const Command& command, Arguments words);
    void clear() { *this = {}; }

    [[nodiscard]] std::size_t size() const { return commands_.size(); }
    // Bytes of memory that it takes.
    [[nodiscard]] std::size_t footprint() const {
        return text_.size() + words_.size() * sizeof(std::uint32_t) + commands_.size() * sizeof(Queued);
    }
    // Calls `run` for each command and its words.
    template <typename Run>
    void each(Run run) const {
        std::vector<std::string_view> words;
        const char* at = text_.data();
        const std::uint32_t* length = words_.data();
        for (const Queued& queued : commands_) {
            words.clear();
            for (std::uint32_t i = 0; i < queued.words; at += *length++, ++i) words.emplace_back(at, *length);
            run(*queued.command, Arguments(words));
        }
    }
    [[nodiscard]] Need need(const Store& store) const;

  private:
    struct Queued {
        const Command* command;
        std::uint32_t words;
    };

    std::string text_;                  // all words, one behind the other
    std::vector<std::uint32_t> words_;  // their lengths
    std::vector<Queued> commands_;
};

}  // namespace offramp::store::resp
