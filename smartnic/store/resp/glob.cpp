// SPDX-License-Identifier: Apache-2.0
#include "resp/glob.hpp"

#include <utility>

namespace offramp::store::resp {
namespace {

// Whether the set that begins behind `at` has the letter; `at` goes behind it.
bool in_set(std::string_view pattern, std::size_t& at, unsigned char letter) {
    bool matched = false;
    const bool inverse = at < pattern.size() && pattern[at] == '^';
    at += inverse;
    for (; at < pattern.size() && pattern[at] != ']'; ++at) {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        auto least = static_cast<unsigned char>(pattern[at]), most = least;
        if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
            most = static_cast<unsigned char>(pattern[at + 2]);
            at += 2;
        }
        if (least > most) std::swap(least, most);
        matched |= least <= letter && letter <= most;
    }
    at += at < pattern.size();
    return matched != inverse;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
    std::size_t at = 0, place = 0, star = std::string_view::npos, resume = 0;
    while (place < text.size()) {
        std::size_t next = at + 1;
        bool same = false;
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            resume = place;
            continue;
        }
        if (at < pattern.size()) {
            if (pattern[at] == '?') {
                same = true;
            } else if (pattern[at] == '[') {
                same = in_set(pattern, next, static_cast<unsigned char>(text[place]));
            } else {
                if (pattern[at] == '\\' && at + 1 < pattern.size()) ++next;
                same = pattern[next - 1] == text[place];
            }
        }
        if (same) {
            at = next;
            ++place;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            place = ++resume;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') ++at;
    return at == pattern.size();
}

}  // namespace offramp::store::resp
