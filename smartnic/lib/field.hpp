// SPDX-License-Identifier: Apache-2.0
// A field of a packet's header: `Width` bits in network order, in the bytes from `At`, with `Shift` bits behind it.
#pragma once

#include <type_traits>

#include "bytes.hpp"

namespace offramp {

template <unsigned Width, std::size_t At, unsigned Shift = 0>
struct Field {
    static constexpr unsigned bits = (Width + Shift + 7) / 8 * 8;
    static_assert(bits == 8 || bits == 16 || bits == 32 || bits == 48);
    using Value = std::conditional_t<
        bits == 8, std::uint8_t,
        std::conditional_t<bits == 16, std::uint16_t, std::conditional_t<bits == 32, std::uint32_t, std::uint64_t>>>;
    static constexpr std::uint64_t mask = (std::uint64_t{1} << Width) - 1;

    [[nodiscard]] Value operator()(const std::byte* header) const {
        return static_cast<Value>(whole(header + At) >> Shift & mask);
    }
    void set(std::byte* header, std::uint64_t value) const {
        std::byte* at = header + At;
        if constexpr (Width != bits) value = (whole(at) & ~(mask << Shift)) | (value & mask) << Shift;
        if constexpr (bits == 8) at[0] = static_cast<std::byte>(value);
        if constexpr (bits == 16) store_be16(at, static_cast<std::uint16_t>(value));
        if constexpr (bits == 32) store_be32(at, static_cast<std::uint32_t>(value));
        if constexpr (bits == 48) store_be48(at, value);
    }

  private:
    static std::uint64_t whole(const std::byte* at) {
        if constexpr (bits == 8) return std::to_integer<std::uint8_t>(*at);
        if constexpr (bits == 16) return load_be16(at);
        if constexpr (bits == 32) return load_be32(at);
        if constexpr (bits == 48) return std::uint64_t{load_be16(at)} << 32 | load_be32(at + 2);
    }
};

}  // namespace offramp
