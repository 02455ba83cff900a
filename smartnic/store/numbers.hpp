// SPDX-License-Identifier: Apache-2.0
// Numbers as protocols write them.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace offramp::store {

// All of the text has to be the number, as it would be written again: no plus sign, no leading zeros or spaces, no -0.
template <typename T>
[[nodiscard]] inline bool parse_number(std::string_view text, T& to) {
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (fault != std::errc{} || stop != text.data() + text.size()) return false;
    return text == "0" || text[text[0] == '-'] != '0';
}

template <typename To, typename T>
inline void append_number(To& to, T number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    to.append(std::string_view(digits.data(), end));
}

// Splits off the next word of a line.
[[nodiscard]] inline std::string_view next_word(std::string_view& line) {
    std::size_t from = 0;
    while (from < line.size() && line[from] == ' ') ++from;
    std::size_t to = from;
    while (to < line.size() && line[to] != ' ') ++to;
    const std::string_view word = line.substr(from, to - from);
    line.remove_prefix(to);
    return word;
}

[[nodiscard]] inline std::string lower(std::string_view text) {
    std::string lowered(text);
    for (char& each : lowered)
        if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + 32);
    return lowered;
}

[[nodiscard]] inline bool same_word(std::string_view text, std::string_view upper) {
    if (text.size() != upper.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char each = text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 32) : text[i];
        if (each != upper[i]) return false;
    }
    return true;
}

}  // namespace offramp::store
