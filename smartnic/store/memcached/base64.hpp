// SPDX-License-Identifier: Apache-2.0
// Base 64 (RFC 4648), for keys with bytes that lines may not have.
#pragma once

#include <string>
#include <string_view>

namespace offramp::store::memcached {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline void append_base64(std::string& to, std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned word = 0;
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t k = 0; k < count; ++k) word |= static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) << (16 - 8 * k);
        for (std::size_t k = 0; k < 4; ++k) to.push_back(k <= count ? base64_digits[word >> (18 - 6 * k) & 63] : '=');
    }
}

[[nodiscard]] inline bool parse_base64(std::string_view text, std::string& to) {
    to.clear();
    if (text.empty() || text.size() % 4 != 0) return false;
    const std::size_t pads = text.size() - text.substr(0, text.size()).find_last_not_of('=') - 1;
    if (pads > 2) return false;
    unsigned word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = i < text.size() - pads ? base64_digits.find(text[i]) : 0;
        if (digit == std::string_view::npos) return false;
        word = word << 6 | static_cast<unsigned>(digit);
        if (i % 4 != 3) continue;
        for (int shift = 16; shift >= 0; shift -= 8) to.push_back(static_cast<char>(word >> shift & 0xFF));
        word = 0;
    }
    to.resize(to.size() - pads);
    return true;
}

}  // namespace offramp::store::memcached
