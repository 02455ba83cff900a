// SPDX-License-Identifier: Apache-2.0
#include "allreduce/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

// Loops over a chunk's lanes are compiled twice, for wide registers as well, and chosen when the library is loaded.
// Sanitizers do not bear that.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define OFFRAMP_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define OFFRAMP_WIDE
#endif

namespace offramp::allreduce {
namespace {

constexpr unsigned float64_bits = 57;  // in limbs: all 53 where the chunk's greatest number has them
constexpr int exact = 96;  // powers of two by which a float32 of 1 to 2^31 may be multiplied or divided without rounding
constexpr unsigned count_bits = 10;  // of each count of infinities and NaNs in a lane
constexpr std::int32_t counts = (1 << count_bits) - 1;

// Calls `with` with a value of the integer type.
template <class With>
auto with_type(Type type, const With& with) {
    switch (type) {
        case Type::int8: return with(std::int8_t{});
        case Type::int16: return with(std::int16_t{});
        case Type::int32: return with(std::int32_t{});
        case Type::uint8: return with(std::uint8_t{});
        case Type::uint16: return with(std::uint16_t{});
        case Type::uint32: return with(std::uint32_t{});
        default: return with(std::int64_t{});
    }
}

template <class Float, class Word>
Measure measure_any(const Float* values, std::size_t count, Word greatest, Word infinity) {
    Measure measure;
    if (greatest >= infinity) {  // anything else is finite, and words are in the order of their numbers
        measure.wild = true;
        greatest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Word word = std::bit_cast<Word>(std::fabs(values[i]));
            if (word < infinity) greatest = std::max(greatest, word);
        }
    }
    if (greatest == 0) return measure;
    int exponent;
    std::frexp(std::bit_cast<Float>(greatest), &exponent);
    measure.exponent = static_cast<std::uint16_t>(exponent + static_cast<int>(exponent_bias));
    return measure;
}

OFFRAMP_WIDE std::uint32_t greatest_word(const float* values, std::size_t count) {
    std::uint32_t greatest = 0;
    for (std::size_t i = 0; i < count; ++i)
        greatest = std::max(greatest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFF'FFFFu);
    return greatest;
}

OFFRAMP_WIDE std::uint64_t greatest_word(const double* values, std::size_t count) {
    std::uint64_t greatest = 0;
    for (std::size_t i = 0; i < count; ++i)
        greatest = std::max(greatest, std::bit_cast<std::uint64_t>(values[i]) & 0x7FFF'FFFF'FFFF'FFFFu);
    return greatest;
}

// The power of two that makes whole numbers of a chunk's, and its inverse.
int shift_of(std::uint16_t exponent, const Format& form) {
    return exponent == 0 ? 0 : static_cast<int>(form.total_bits()) - (exponent - static_cast<int>(exponent_bias));
}

// A lane as it is on the wire.
inline void put(std::byte* to, std::size_t at, std::int32_t lane) {
    const std::uint32_t word = __builtin_bswap32(static_cast<std::uint32_t>(lane));
    std::memcpy(to + sizeof word * at, &word, sizeof word);
}
inline std::int32_t get(const std::byte* from, std::size_t at) {
    std::uint32_t word;
    std::memcpy(&word, from + sizeof word * at, sizeof word);
    return static_cast<std::int32_t>(__builtin_bswap32(word));
}

// Lanes of the wire. Whether all were within `limit`; the others, NaNs included, become 0.
OFFRAMP_WIDE bool round_to(const float* values, std::size_t count, float factor, float limit, std::byte* to) {
    int beyond = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const float whole = std::rint(values[i] * factor);
        const bool fits = std::fabs(whole) <= limit;
        beyond |= !fits;
        put(to, i, static_cast<std::int32_t>(fits ? whole : 0.0F));
    }
    return beyond == 0;
}

OFFRAMP_WIDE void scale(const std::byte* sums, std::size_t count, float factor, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(get(sums, i)) * factor;
}

// In 64-bit arithmetic, so that no shift overflows.
template <class Float, class Whole>
bool round_slowly(const Float* values, std::size_t count, int shift, double limit, Whole* to) {
    for (std::size_t i = 0; i < count; ++i) {
        const double whole = std::rint(std::ldexp(double{values[i]}, shift));
        const bool fits = std::fabs(whole) <= limit;
        if (!fits && std::isfinite(values[i])) return false;
        to[i] = static_cast<Whole>(fits ? whole : 0.0);
    }
    return true;
}

template <class Whole, class Float>
void scale_slowly(const Whole* sums, std::size_t count, int shift, Float* to) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<Float>(std::ldexp(static_cast<double>(sums[i]), shift));
}

}  // namespace

Format::Format(Type of, unsigned ranks) : type(of), lane_bits(31 - static_cast<unsigned>(std::bit_width(ranks - 1))) {}

unsigned Format::limbs(unsigned bits) const {
    if (floating()) return wide() ? (54 + lane_bits - 1) / lane_bits : 1;
    return std::max(1u, (bits + lane_bits - 1) / lane_bits);
}

unsigned Format::total_bits() const { return std::min(float64_bits, limbs(0) * lane_bits); }

std::size_t Format::value_bytes() const {
    if (floating()) return wide() ? 8 : 4;
    return with_type(type, [](auto of) { return sizeof of; });
}

std::size_t Format::sum_bytes() const { return narrow() ? 8 : value_bytes(); }

unsigned integer_bits(Type type, const std::byte* values, std::size_t count) {
    return with_type(type, [&](auto of) -> unsigned {
        using T = decltype(of);
        if (count == 0) return 0;
        const T* all = reinterpret_cast<const T*>(values);
        T least = all[0], greatest = all[0];
        for (std::size_t i = 1; i < count; ++i) {
            least = std::min(least, all[i]);
            greatest = std::max(greatest, all[i]);
        }
        const auto bits = [](std::int64_t value) {
            return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(value < 0 ? ~value : value)));
        };
        // A greatest number below zero, or a least one above it, needs no bit of its own.
        return std::max(greatest < 0 ? 0 : bits(static_cast<std::int64_t>(greatest)),
                        least < 0 ? bits(static_cast<std::int64_t>(least)) : 0);
    });
}

Measure measure(const float* values, std::size_t count) {
    return measure_any<float, std::uint32_t>(values, count, greatest_word(values, count), 0x7F80'0000u);
}

Measure measure(const double* values, std::size_t count) {
    return measure_any<double, std::uint64_t>(values, count, greatest_word(values, count), 0x7FF0'0000'0000'0000u);
}

bool quantise(const float* values, std::size_t count, std::uint16_t exponent, const Format& form, std::byte* to) {
    const int shift = shift_of(exponent, form);
    // A lane of 31 bits (one rank) holds no 2^31; a rounded float32 below that is no more than this.
    const double limit = std::min(std::ldexp(1.0, static_cast<int>(form.total_bits())), 2147483520.0);
    if (shift >= -126 && shift <= 127 &&
        round_to(values, count, std::ldexp(1.0F, shift), static_cast<float>(limit), to))
        return true;
    std::vector<std::int32_t> lanes(count);
    if (!round_slowly(values, count, shift, limit, lanes.data())) return false;
    to_wire(lanes.data(), count, to);
    return true;
}

bool quantise(const double* values, std::size_t count, std::uint16_t exponent, const Format& form, std::int64_t* to) {
    const double limit = std::ldexp(1.0, static_cast<int>(form.total_bits()));
    return round_slowly(values, count, shift_of(exponent, form), limit, to);
}

void dequantise(const std::byte* sums, std::size_t count, std::uint16_t exponent, const Format& form, std::byte* to) {
    const int shift = -shift_of(exponent, form);
    const bool single = form.sum_bytes() == sizeof(float);
    if (single && shift >= -exact && shift <= exact) {
        scale(sums, count, std::ldexp(1.0F, shift), reinterpret_cast<float*>(to));
        return;
    }
    std::vector<std::int32_t> lanes(count);
    from_wire(sums, count, lanes.data());
    if (single)
        scale_slowly(lanes.data(), count, shift, reinterpret_cast<float*>(to));
    else
        scale_slowly(lanes.data(), count, shift, reinterpret_cast<double*>(to));
}

void dequantise(const std::int64_t* sums, std::size_t count, std::uint16_t exponent, const Format& form, double* to) {
    scale_slowly(sums, count, -shift_of(exponent, form), to);
}

void widen(Type type, const std::byte* values, std::size_t count, std::int64_t* to) {
    with_type(type, [&](auto of) { std::copy_n(reinterpret_cast<const decltype(of)*>(values), count, to); });
}

void narrow(Type type, const std::int64_t* values, std::size_t count, std::byte* to) {
    with_type(type, [&](auto of) {
        using T = decltype(of);
        T* all = reinterpret_cast<T*>(to);
        for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<T>(values[i]);
    });
}

void cut(const std::int64_t* values, std::size_t count, unsigned limb, unsigned limbs, unsigned lane_bits,
         std::int32_t* to) {
    const std::int64_t mask = limb + 1 < limbs ? (std::int64_t{1} << lane_bits) - 1 : -1;
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::int32_t>(values[i] >> lane_bits * limb & mask);
}

void join_floats(const std::int32_t* parts, std::size_t stride, std::size_t count, unsigned limbs, unsigned lane_bits,
                 std::int64_t* to) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t total = 0;  // what the ranks send fits 64 bits; what a forger sends may wrap
        for (unsigned limb = 0; limb < limbs; ++limb)
            total += static_cast<std::uint64_t>(std::int64_t{parts[limb * stride + i]}) << lane_bits * limb;
        to[i] = static_cast<std::int64_t>(total);
    }
}

std::size_t join_integers(Type type, const std::int32_t* parts, std::size_t stride, std::size_t count, unsigned limbs,
                          unsigned lane_bits, std::int64_t* to) {
    return with_type(type, [&](auto of) {
        using Limits = std::numeric_limits<decltype(of)>;
        // The highest limb decides: what lies below it adds less than one to it.
        const unsigned top = lane_bits * (limbs - 1);
        const std::int64_t least = static_cast<std::int64_t>(Limits::min()) >> top;
        const std::int64_t greatest = static_cast<std::int64_t>(Limits::max()) >> top;
        const std::int64_t mask = (std::int64_t{1} << lane_bits) - 1;
        std::size_t wrong = count;
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t carry = 0;
            std::uint64_t total = 0;
            for (unsigned limb = 0; limb + 1 < limbs; ++limb) {
                carry += parts[limb * stride + i];
                total |= static_cast<std::uint64_t>(carry & mask) << lane_bits * limb;
                carry >>= lane_bits;
            }
            carry += parts[(limbs - 1) * stride + i];
            if (carry < least || carry > greatest) {
                wrong = std::min(wrong, i);
                carry = 0;
            }
            to[i] = static_cast<std::int64_t>(total | static_cast<std::uint64_t>(carry) << top);
        }
        return wrong;
    });
}

std::int32_t classify(double value) {
    if (std::isnan(value)) return 1 << 2 * count_bits;
    if (!std::isinf(value)) return 0;
    return value > 0 ? 1 : 1 << count_bits;
}

double declassify(std::int32_t sum) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const bool positive = (sum & counts) != 0, negative = (sum >> count_bits & counts) != 0;
    if ((sum >> 2 * count_bits & counts) != 0 || (positive && negative)) return nan;
    return positive ? infinity : negative ? -infinity : 0.0;
}

OFFRAMP_WIDE void to_wire(const std::int32_t* lanes, std::size_t count, std::byte* to) {
    for (std::size_t i = 0; i < count; ++i) put(to, i, lanes[i]);
}

OFFRAMP_WIDE void from_wire(const std::byte* from, std::size_t count, std::int32_t* lanes) {
    for (std::size_t i = 0; i < count; ++i) lanes[i] = get(from, i);
}

}  // namespace offramp::allreduce
