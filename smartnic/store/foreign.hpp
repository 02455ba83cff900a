// SPDX-License-Identifier: Apache-2.0
// Requests of HTTP: a web page can make a browser send them to any port of its machine, with commands in their body.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "numbers.hpp"

namespace offramp::store {

// Whether a line that is no command is one of an HTTP request: its first line, or a header such as "Host:".
[[nodiscard]] inline bool is_http(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 9> methods = {"POST", "PUT", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PRI", "DELETE"};
    if (words.empty()) return false;
    const bool method = std::any_of(methods.begin(), methods.end(), [&](std::string_view each) { return same_word(words[0], each); });
    return method || words[0].ends_with(':') || same_word(words.back().substr(0, 5), "HTTP/");
}

}  // namespace offramp::store
