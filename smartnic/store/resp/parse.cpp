// SPDX-License-Identifier: Apache-2.0
#include "resp/parse.hpp"

#include <algorithm>

#include "free.hpp"
#include "numbers.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_digits = 12;
constexpr std::size_t turn_spans = 2048;  // words that are parsed at a time

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
    if (in[first] == '0' && (negative || place - first > 1)) return std::string_view::npos;
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

Parsed incomplete(std::size_t needs) {
    return {0, needs, nullptr};
}

Parsed wrong(const char* error, char got = 0) {
    return {0, 0, error, got >= ' ' && got <= '~' ? got : '\0'};
}

}  // namespace

Parsed Parser::parse(std::string_view in, std::size_t most, std::size_t most_words) {
    if (in.empty()) return incomplete(1);
    const Parsed parsed = in[0] == '*' ? parse_array(in, most, most_words) : parse_line(in, most);
    if (parsed.used == 0 && parsed.error == nullptr) return parsed;
    at_ = 0;
    count_ = -1;
    return parsed;
}

Parsed Parser::parse_array(std::string_view in, std::size_t most, std::size_t most_words) {
    if (count_ < 0) {
        at_ = header(in, 0, count_);
        if (at_ == std::string_view::npos || count_ > static_cast<long>(most_words)) return wrong("invalid multibulk length");
        if (at_ == 0) return count_ = -1, incomplete(in.size() + 1);
        count_ = std::max(count_, 0L);
        spans_.clear();
    }
    for (const std::size_t enough = spans_.size() + turn_spans; spans_.size() < static_cast<std::size_t>(count_);) {
        if (spans_.size() == enough) return incomplete(at_);
        if (at_ >= in.size()) return incomplete(at_ + 4);
        if (in[at_] != '$') return wrong("expected '$'", in[at_]);
        long length = 0;
        const std::size_t from = header(in, at_, length);
        if (from == 0) return incomplete(in.size() + 1);
        if (from == std::string_view::npos || length < 0 || static_cast<std::size_t>(length) > most) return wrong("invalid bulk length");
        const std::size_t end = from + static_cast<std::size_t>(length) + 2;
        if (end > most + 64) return wrong("command too long");
        if (end > in.size()) return incomplete(end);
        if (in[end - 2] != '\r' || in[end - 1] != '\n') return wrong("expected a line end behind a bulk string");
        spans_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(length)});
        at_ = end;
    }
    words_.clear();
    for (const Span& each : spans_) words_.emplace_back(in.data() + each.from, each.length);
    return {at_, 0, nullptr};
}

// Control characters and bytes above 127 begin no line: they are another protocol's (TLS, memcached's binary one).
Parsed Parser::parse_line(std::string_view in, std::size_t most) {
    const auto first = static_cast<unsigned char>(in[0]);
    if ((first < ' ' && first != '\r' && first != '\n' && first != '\t') || first > '~') return wrong("expected a command");
    const std::size_t end = in.find('\n', at_);
    if (std::min(end, in.size()) > std::min(most, most_line)) return wrong("too big inline request");
    if (end == std::string_view::npos) return at_ = in.size(), incomplete(in.size() + 1);
    words_.clear();
    const std::string_view line = in.substr(0, end - (end > 0 && in[end - 1] == '\r'));
    if (!split(line, words_, unquoted_)) return wrong("unbalanced quotes in request");
    return {end + 1, 0, nullptr};
}

void Parser::trim() {
    constexpr std::size_t kept_bytes = std::size_t{16} << 10;
    if (footprint() <= kept_bytes) return;
    free_memory(words_);
    if (count_ < 0) free_memory(spans_), free_memory(unquoted_);
}

}  // namespace offramp::store::resp
