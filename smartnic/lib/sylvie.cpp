// SPDX-License-Identifier: Apache-2.0
#include "sylvie.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "formats/functions.hpp"

namespace offramp {
namespace {

constexpr float least_range = 0x1p-100f, nudge = 1.0f + 0x1p-22f;
constexpr std::uint32_t golden_32 = 0x9E3779B9u;
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
constexpr unsigned group = 32, words = group / 2;  // columns that draw from the same words, and these

std::uint64_t mix(std::uint64_t word) {
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

// Rounding offsets of 32 columns: multiples of 2^-16, plus 2^-17 so that their mean is 1/2.
void fractions(std::uint64_t key, std::uint32_t number, float* to) {
    for (std::uint32_t i = 0; i < words; ++i) {
        std::uint32_t word = (number * words + i) * golden_32 + static_cast<std::uint32_t>(key);
        word = (word ^ word >> 16) * 0x7FEB352Du;
        word ^= static_cast<std::uint32_t>(key >> 32);
        word = (word ^ word >> 15) * 0x846CA68Bu;
        word ^= word >> 16;
        to[i] = static_cast<float>(word & 0xFFFF) * 0x1p-16f + 0x1p-17f;
        to[i + words] = static_cast<float>(word >> 16) * 0x1p-16f + 0x1p-17f;
    }
}

// The next bfloat16 value that is not above.
float down(float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const bool away = (word & 0xFFFF) != 0 && word >> 31 == 1;
    return std::bit_cast<float>((word & 0xFFFF0000u) + (away ? 0x10000u : 0u));
}

struct Bounds {
    float least, greatest;
};

// Returns nothing if the row holds NaN or infinity, or its range is beyond float32.
bool bounds(const std::byte* row, std::size_t columns, bool compact, Bounds& range) {
    float least = load<float>(row), greatest = least;
    bool finite = true;
    for (std::size_t c = 0; c < columns; ++c) {
        const auto x = load<float>(row + 4 * c);
        finite &= std::isfinite(x);
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
    }
    if (!finite) return false;
    least += 0.0f;  // no negative zero
    greatest += 0.0f;
    if (compact) {
        least = down(least);
        greatest = -down(-greatest);
    }
    const float span = greatest - least;
    range = {least, span >= least_range ? greatest : least};
    return std::isfinite(span);
}

std::size_t row_bytes(std::size_t columns, unsigned bits) {
    return (columns * bits + 7) / 8;
}

bool known(unsigned bits) {
    return bits == 1 || bits == 2 || bits == 4 || bits == 8;
}

void pack_row(const std::byte* row, std::size_t columns, unsigned bits, std::uint64_t key, Bounds bound,
              std::byte* to) {
    const auto top = static_cast<float>((1u << bits) - 1);
    const float span = bound.greatest - bound.least;
    const float inverse = span > 0 ? top / span * nudge : 0.0f;
    std::fill_n(to, row_bytes(columns, bits), std::byte{0});
    for (std::size_t first = 0; first < columns; first += group) {
        float random[group];
        fractions(key, static_cast<std::uint32_t>(first / group), random);
        const std::size_t end = std::min<std::size_t>(columns - first, group);
        for (std::size_t i = 0; i < end; ++i) {
            const float scaled = (load<float>(row + 4 * (first + i)) - bound.least) * inverse + random[i];
            const auto code = static_cast<unsigned>(std::min(static_cast<int>(scaled), static_cast<int>(top)));
            const std::size_t bit = (first + i) * bits;
            to[bit / 8] |= std::byte(code << bit % 8);
        }
    }
}

}  // namespace

Answer quantise(Bytes message, Room answer) {
    constexpr std::size_t header = sizeof(formats::QuantiseHeader);
    if (message.size() < header) return {Status::bad_length};
    const std::byte* at = message.data();
    const auto [bits, compact, zeros, rows, columns, more_zeros, seed] = load<formats::QuantiseHeader>(at);
    if (!known(bits) || compact > 1 || (zeros | more_zeros) != 0 || columns == 0) return {Status::bad_length};
    const std::uint64_t values = std::uint64_t{rows} * columns;
    if (message.size() < values || message.size() != header + std::uint64_t{rows} * 8 + values * 4)
        return {Status::bad_length};
    const std::size_t packed = row_bytes(columns, bits), length = rows * (packed + 8);
    if (answer.size() < length) return {Status::no_room};
    std::byte* least = answer.data() + rows * packed;
    for (std::size_t r = 0; r < rows; ++r) {
        const auto number = load<std::uint64_t>(at + header + 8 * r);
        const std::byte* row = at + header + 8 * std::size_t{rows} + 4 * std::size_t{columns} * r;
        Bounds bound{};
        if (!bounds(row, columns, compact == 1, bound)) return {Status::failed};
        pack_row(row, columns, bits, mix(seed + (number + 1) * golden), bound, answer.data() + r * packed);
        store(least + 4 * r, bound.least);
        store(least + 4 * (rows + r), bound.greatest);
    }
    return {Status::ok, length};
}

Answer dequantise(Bytes message, Room answer) {
    constexpr std::size_t header = sizeof(formats::DequantiseHeader);
    if (message.size() < header) return {Status::bad_length};
    const std::byte* at = message.data();
    const auto [bits, zero, zeros, rows, columns, more_zeros] = load<formats::DequantiseHeader>(at);
    if (!known(bits) || (zero | zeros | more_zeros) != 0 || columns == 0) return {Status::bad_length};
    const std::size_t packed = row_bytes(columns, bits);
    if (message.size() != header + std::uint64_t{rows} * (packed + 8)) return {Status::bad_length};
    const std::uint64_t length = std::uint64_t{rows} * columns * 4;
    if (answer.size() < length) return {Status::no_room};
    const std::byte* least = at + header + rows * packed;
    const unsigned top = (1u << bits) - 1;
    for (std::size_t r = 0; r < rows; ++r) {
        const auto low = load<float>(least + 4 * r), high = load<float>(least + 4 * (rows + r));
        const float step = (high - low) / static_cast<float>(top);
        const std::byte* codes = at + header + r * packed;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::size_t bit = c * bits;
            const unsigned code = std::to_integer<unsigned>(codes[bit / 8]) >> bit % 8 & top;
            store(answer.data() + 4 * (r * columns + c), code == top ? high : static_cast<float>(code) * step + low);
        }
    }
    return {Status::ok, length};
}

}  // namespace offramp
