// SPDX-License-Identifier: Apache-2.0
// Elements of a tensor as integers whose sums fit 32-bit lanes (offramp.allreduce.numbers, bit for bit): limbs, and
// floating-point numbers that share the exponent of their chunk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/allreduce.hpp"

namespace offramp::allreduce {

// How a type of elements goes over the wire.
struct Format {
    Type type;
    unsigned lane_bits;  // of a limb: a lane that the switch adds up for all ranks holds this much of each

    Format(Type type, unsigned ranks);
    [[nodiscard]] bool floating() const { return type <= Type::bfloat16; }
    [[nodiscard]] bool wide() const { return type == Type::float64; }
    // Packets for each chunk; of integers that take `bits` without their sign.
    [[nodiscard]] unsigned limbs(unsigned bits) const;
    // Bits of a floating-point number as an integer.
    [[nodiscard]] unsigned total_bits() const;
    // Bytes of an element as it is given, and of its sum: numbers of 16 bits come as float32, and their sums are float64,
    // which the caller rounds once.
    [[nodiscard]] std::size_t value_bytes() const;
    [[nodiscard]] std::size_t sum_bytes() const;

  private:
    [[nodiscard]] bool narrow() const { return type == Type::float16 || type == Type::bfloat16; }
};

[[nodiscard]] constexpr bool is_type(unsigned code) {
    return code >= static_cast<unsigned>(Type::float32) && code <= static_cast<unsigned>(Type::uint32);
}

// The exponent on the wire that bounds a chunk's finite numbers, 0 if all are 0, and whether it has infinities or NaNs.
struct Measure {
    std::uint16_t exponent = 0;
    bool wild = false;
};

// The least b such that -2^b <= x < 2^b for all `count` integers.
[[nodiscard]] unsigned integer_bits(Type type, const std::byte* values, std::size_t count);

[[nodiscard]] Measure measure(const float* values, std::size_t count);
[[nodiscard]] Measure measure(const double* values, std::size_t count);

// Whole numbers at the chunk's exponent; infinities and NaNs are 0. False where a finite number is beyond the exponent.
// Those of one limb are lanes of the wire: one pass over the chunk makes them, and one makes numbers of their sums.
[[nodiscard]] bool quantise(const float* values, std::size_t count, std::uint16_t exponent, const Format& form,
                            std::byte* to);
[[nodiscard]] bool quantise(const double* values, std::size_t count, std::uint16_t exponent, const Format& form,
                            std::int64_t* to);

// The sums of what `quantise` makes, rounded once; as float64 for types of 16 bits.
void dequantise(const std::byte* sums, std::size_t count, std::uint16_t exponent, const Format& form, std::byte* to);
void dequantise(const std::int64_t* sums, std::size_t count, std::uint16_t exponent, const Format& form, double* to);

// Integers of any type, as they are in memory, with 64 bits; and back, where `fits` says so.
void widen(Type type, const std::byte* values, std::size_t count, std::int64_t* to);
void narrow(Type type, const std::int64_t* values, std::size_t count, std::byte* to);

// Limb number `limb` of `limbs`: the lowest first, all but the highest without a sign.
void cut(const std::int64_t* values, std::size_t count, unsigned limb, unsigned limbs, unsigned lane_bits,
         std::int32_t* to);

// The integers of summed limbs, `stride` lanes apart. Of floating-point numbers they always fit 64 bits.
void join_floats(const std::int32_t* parts, std::size_t stride, std::size_t count, unsigned limbs, unsigned lane_bits,
                 std::int64_t* to);
// Likewise; the first whose sum `type` does not hold, `count` if there is none.
[[nodiscard]] std::size_t join_integers(Type type, const std::int32_t* parts, std::size_t stride, std::size_t count,
                                        unsigned limbs, unsigned lane_bits, std::int64_t* to);

// Infinities and NaNs as lanes whose sums count them, 0 for finite numbers; and a number for such a sum: 0 for none.
[[nodiscard]] std::int32_t classify(double value);
[[nodiscard]] double declassify(std::int32_t sum);

// Lanes to the wire and from it.
void to_wire(const std::int32_t* lanes, std::size_t count, std::byte* to);
void from_wire(const std::byte* from, std::size_t count, std::int32_t* lanes);

}  // namespace offramp::allreduce
