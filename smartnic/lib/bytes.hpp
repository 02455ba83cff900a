// SPDX-License-Identifier: Apache-2.0
// Numbers in memory that may be shared, unaligned or both: each is read once, by a copy.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace offramp {

static_assert(std::endian::native == std::endian::little, "big-endian machines are not supported");

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;

template <typename T>
[[nodiscard]] inline T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T>
inline void store(std::byte* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
}

// Big-endian, as networks have it.
[[nodiscard]] inline std::uint16_t load_be16(const std::byte* at) {
    return __builtin_bswap16(load<std::uint16_t>(at));
}
[[nodiscard]] inline std::uint32_t load_be32(const std::byte* at) {
    return __builtin_bswap32(load<std::uint32_t>(at));
}
inline void store_be16(std::byte* at, std::uint16_t value) {
    store(at, __builtin_bswap16(value));
}
inline void store_be32(std::byte* at, std::uint32_t value) {
    store(at, __builtin_bswap32(value));
}
inline void store_be48(std::byte* at, std::uint64_t value) {
    store_be16(at, static_cast<std::uint16_t>(value >> 32));
    store_be32(at + 2, static_cast<std::uint32_t>(value));
}

// Adds with a wrap around: the host may have put anything there.
inline void add(std::int64_t& sum, std::int64_t more) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(more));
}

// Whether `length` bytes from `offset` lie inside `size`, without overflow.
[[nodiscard]] constexpr bool inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return offset <= size && length <= size - offset;
}

}  // namespace offramp
