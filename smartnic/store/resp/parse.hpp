// SPDX-License-Identifier: Apache-2.0
// Commands of redis' protocol as clients send them: arrays of bulk strings, or lines of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offramp::store::resp {

constexpr std::size_t most_arguments = 1 << 16;
constexpr std::size_t most_line = 1 << 16;

struct Parsed {
    std::size_t used = 0;     // bytes of the command; 0: it is not whole
    std::size_t needs = 0;    // bytes it has at least, where it is not whole
    const char* fault = nullptr;  // it is none: the connection cannot go on
};

// Puts the words of the first command into `arguments`; words of a line with quotes lie in `unquoted`.
// `most` and `most_words` bound the whole command.
Parsed parse(std::string_view in, std::vector<std::string_view>& arguments, std::string& unquoted, std::size_t most,
             std::size_t most_words);

}  // namespace offramp::store::resp
