// SPDX-License-Identifier: Apache-2.0
#include "resp/transaction.hpp"

#include <algorithm>

#include "numbers.hpp"
#include "resp/session.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t record_overhead = 64;     // bytes of a word's part in the log, beside the word
constexpr std::size_t longest_number = 5 << 10;  // that INCRBYFLOAT writes

}  // namespace

void Need::add(const Command& command, Arguments words, const Store& store) {
    if ((command.flags & resp::writes) == 0) return;
    std::size_t sent = 0;
    for (const std::string_view word : words) sent += word.size();
    writes = true;
    log += sent + record_overhead * (words.size() + 1) + (words.size() > 1 ? words[1].size() : 0);
    if ((command.flags & resp::moves) != 0) {
        const Entry* entry = store.peek(words[1]);
        log += entry == nullptr ? 0 : entry->value_length;
        ++moves;
    }
    if ((command.flags & computes) != 0) log += longest_number;
    if ((command.flags & resp::grows) == 0) return;
    grows = true;
    bytes += sent;
    keys += words.size() / 2;
    std::uint32_t offset = 0;
    if ((command.flags & pads) != 0 && parse_number(words[2], offset)) padding += std::min(offset, store.limits().value);
}

void Transaction::add(const Command& command, Arguments words) {
    for (const std::string_view word : words) {
        text_.append(word);
        words_.push_back(static_cast<std::uint32_t>(word.size()));
    }
    commands_.push_back({&command, static_cast<std::uint32_t>(words.size())});
}

Need Transaction::need(const Store& store) const {
    Need need;
    std::size_t longest = 0;
    each([&](const Command& command, Arguments words) {
        need.add(command, words, store);
        if (command.first == 0) return;
        for (const std::string_view key : words.subspan(1))
            if (const Entry* entry = store.peek(key); entry != nullptr) longest = std::max<std::size_t>(longest, entry->value_length);
    });
    // A value that is moved may be one that a command before it has moved or made longer.
    need.log += need.moves * std::min<std::size_t>(longest + text_.size() + need.padding + longest_number, store.limits().value);
    return need;
}

}  // namespace offramp::store::resp
