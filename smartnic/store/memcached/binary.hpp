// SPDX-License-Identifier: Apache-2.0
// memcached's binary protocol: a header of 24 bytes, then extras, key and value; numbers are big-endian.
//
//   magic (1), opcode (1), length of the key (2), of the extras (1), data type (1), status (2), length of the body (4),
//   opaque (4), version (8)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace offramp::store::memcached {

constexpr std::size_t binary_header = 24;
constexpr char binary_request = static_cast<char>(0x80), binary_response = static_cast<char>(0x81);

enum class Opcode : std::uint8_t {
    get = 0, set, add, replace, remove, increment, decrement, quit, flush, get_quiet, noop, version, get_key, get_key_quiet, append,
    prepend, stat, set_quiet, add_quiet, replace_quiet, remove_quiet, increment_quiet, decrement_quiet, quit_quiet, flush_quiet,
    append_quiet, prepend_quiet, touch = 0x1C, get_touch, get_touch_quiet, sasl_list = 0x20, sasl_auth, sasl_step,
    get_touch_key = 0x23, get_touch_key_quiet
};

enum class BinaryStatus : std::uint16_t {
    ok = 0, not_found = 1, exists = 2, too_large = 3, invalid = 4, not_stored = 5, not_a_number = 6, no_proof = 0x20,
    unknown = 0x81, no_room = 0x82, busy = 0x85
};

struct BinaryRequest {
    Opcode opcode = Opcode::noop;  // of the form that is not quiet and has no key in its answer
    bool quiet = false, with_key = false;
    std::uint8_t sent_opcode = 0;
    std::uint32_t opaque = 0;
    std::uint64_t version = 0;
    std::string_view extras, key, value;
};

template <typename T>
[[nodiscard]] T get_big(std::string_view text, std::size_t at = 0) {
    T number = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) number = static_cast<T>(number << 8 | static_cast<unsigned char>(text[at + i]));
    return number;
}

template <typename To, typename T>
void append_big(To& to, T number) {
    for (std::size_t i = sizeof(T); i-- > 0;) to.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

}  // namespace offramp::store::memcached
