// SPDX-License-Identifier: Apache-2.0
#include "client/answers.hpp"

#include "numbers.hpp"

namespace offramp::store {
namespace {

constexpr int deepest = 8;
constexpr std::size_t longest_line = 1 << 16;
constexpr std::int64_t longest = std::int64_t{1} << 30;

std::size_t parse_many(std::string_view in, std::size_t at, std::int64_t count, Answer& to, int depth) {
    if (count > longest || depth >= deepest) return no_answer;
    Answer each;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t used = at < in.size() ? parse_answer(in.substr(at), each, depth + 1) : not_whole;
        if (used == not_whole || used == no_answer) return used;
        at += used;
    }
    to = {Answer::array, count, in.substr(0, at)};
    return at;
}

}  // namespace

std::size_t parse_answer(std::string_view in, Answer& to, int depth) {
    const std::size_t end = in.substr(0, longest_line).find("\r\n");
    if (end == std::string_view::npos) return in.size() < longest_line ? not_whole : no_answer;
    const std::string_view line = in.substr(1, end - 1);
    const std::size_t next = end + 2;
    const auto type = in[0];
    if (type == '+' || type == '-') return to = {type == '+' ? Answer::text : Answer::error, 0, line}, next;
    if (type == '_') return to = {}, next;
    std::int64_t number = 0;
    if (!parse_number(line, number)) return no_answer;
    if (type == ':') return to = {Answer::number, number, {}}, next;
    if (type != '$' && type != '*') return no_answer;
    if (number == -1) return to = {}, next;
    if (number < 0 || number > longest) return no_answer;
    if (type == '*') return parse_many(in, next, number, to, depth);
    const auto length = static_cast<std::size_t>(number);
    if (in.size() < next + length + 2) return not_whole;
    to = {Answer::value, 0, in.substr(next, length)};
    return in.substr(next + length, 2) == "\r\n" ? next + length + 2 : no_answer;
}

}  // namespace offramp::store
