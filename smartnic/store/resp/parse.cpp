// SPDX-License-Identifier: Apache-2.0
#include "resp/parse.hpp"

#include <cstring>

#include "numbers.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_digits = 12;

// The number behind a type byte at `at`; where the next line begins, 0 if the line is not whole, npos if it is none.
std::size_t header(std::string_view in, std::size_t at, long& number) {
    std::size_t place = at + 1;
    bool negative = false;
    if (place < in.size() && in[place] == '-') negative = true, ++place;
    const std::size_t first = place;
    number = 0;
    for (; place < in.size() && in[place] >= '0' && in[place] <= '9'; ++place) {
        if (place - first >= most_digits) return std::string_view::npos;
        number = number * 10 + (in[place] - '0');
    }
    if (place + 1 >= in.size()) return place == in.size() || in[place] == '\r' ? 0 : std::string_view::npos;
    if (place == first || in[place] != '\r' || in[place + 1] != '\n') return std::string_view::npos;
    if (negative) number = -number;
    return place + 2;
}

int hex(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

char escaped(char letter) {
    constexpr std::string_view from = "nrtba", to = "\n\r\t\b\a";
    const std::size_t at = from.find(letter);
    return at == std::string_view::npos ? letter : to[at];
}

// A quoted word from behind its quote; where it ends, npos if it does not.
std::size_t unquote(std::string_view line, std::size_t at, char quote, std::string& to) {
    for (; at < line.size(); ++at) {
        if (line[at] == quote) return at + 1 == line.size() || line[at + 1] == ' ' ? at + 1 : std::string_view::npos;
        if (line[at] == '\\' && at + 1 < line.size() && (quote == '"' || line[at + 1] == '\'')) {
            ++at;
            if (quote == '"' && line[at] == 'x' && at + 2 < line.size() && hex(line[at + 1]) >= 0 && hex(line[at + 2]) >= 0) {
                to.push_back(static_cast<char>(hex(line[at + 1]) * 16 + hex(line[at + 2])));
                at += 2;
            } else {
                to.push_back(quote == '"' ? escaped(line[at]) : line[at]);
            }
        } else {
            to.push_back(line[at]);
        }
    }
    return std::string_view::npos;
}

bool split(std::string_view line, std::vector<std::string_view>& arguments, std::string& unquoted) {
    unquoted.clear();
    unquoted.reserve(line.size());  // no word moves while others are added
    for (std::size_t at = 0; at < line.size();) {
        if (line[at] == ' ' || line[at] == '\t') {
            ++at;
        } else if (line[at] == '"' || line[at] == '\'') {
            const std::size_t from = unquoted.size();
            at = unquote(line, at + 1, line[at], unquoted);
            if (at == std::string_view::npos) return false;
            arguments.emplace_back(unquoted.data() + from, unquoted.size() - from);
        } else {
            const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
            arguments.push_back(line.substr(at, end - at));
            at = end;
        }
    }
    return true;
}

Parsed parse_line(std::string_view in, std::vector<std::string_view>& arguments, std::string& unquoted, std::size_t most) {
    const std::size_t end = in.find('\n');
    if (end == std::string_view::npos) {
        if (in.size() > std::min(most, most_line)) return {0, 0, "too big inline request"};
        return {0, in.size() + 1, nullptr};
    }
    if (end > std::min(most, most_line)) return {0, 0, "too big inline request"};
    const std::string_view line = in.substr(0, end - (end > 0 && in[end - 1] == '\r'));
    if (!split(line, arguments, unquoted)) return {0, 0, "unbalanced quotes in request"};
    return {end + 1, 0, nullptr};
}

}  // namespace

Parsed parse(std::string_view in, std::vector<std::string_view>& arguments, std::string& unquoted, std::size_t most,
             std::size_t most_words) {
    arguments.clear();
    if (in.empty()) return {0, 1, nullptr};
    if (in[0] != '*') return parse_line(in, arguments, unquoted, most);
    long count = 0;
    std::size_t at = header(in, 0, count);
    if (at == 0) return {0, in.size() + 1, nullptr};
    if (at == std::string_view::npos || count > static_cast<long>(most_words)) return {0, 0, "invalid multibulk length"};
    for (long i = 0; i < count; ++i) {
        if (at >= in.size()) return {0, at + 4, nullptr};
        if (in[at] != '$') return {0, 0, "expected '$'"};
        long length = 0;
        const std::size_t from = header(in, at, length);
        if (from == 0) return {0, in.size() + 1, nullptr};
        if (from == std::string_view::npos || length < 0 || static_cast<std::size_t>(length) > most) return {0, 0, "invalid bulk length"};
        at = from + static_cast<std::size_t>(length) + 2;
        if (at > most + 64) return {0, 0, "command too long"};
        if (at > in.size()) return {0, at, nullptr};
        if (in[at - 2] != '\r' || in[at - 1] != '\n') return {0, 0, "expected a line end behind a bulk string"};
        arguments.emplace_back(in.data() + from, static_cast<std::size_t>(length));
    }
    return {at, 0, nullptr};
}

}  // namespace offramp::store::resp
