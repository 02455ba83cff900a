// SPDX-License-Identifier: Apache-2.0
// Answers of redis' protocol, read.
#pragma once

#include <cstdint>
#include <string_view>

namespace offramp::store {

struct Answer {
    enum Type { text, error, number, value, nothing, array } type = nothing;
    std::int64_t integer = 0;
    std::string_view content;  // of text, error and value; of an array all of it
};

constexpr std::size_t not_whole = 0, no_answer = ~std::size_t{0};

// The first answer in `in`: the bytes it takes, `not_whole` or `no_answer`.
std::size_t parse_answer(std::string_view in, Answer& to, int depth = 0);

}  // namespace offramp::store
