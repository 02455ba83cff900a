// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary32 in integer logic, to nearest even, with subnormal numbers (vendor cores flush them to zero). A NaN
// is always the same quiet one. Bit-equal to NumPy's float32 but for NaNs' payloads.
#pragma once

#include <ap_int.h>

namespace offramp {
namespace float32 {

using Word = ap_uint<32>;

constexpr unsigned kNan = 0x7FC00000;
constexpr unsigned kInfinity = 0x7F800000;

inline ap_uint<8> exponent(Word x) {
    return x(30, 23);
}
inline ap_uint<23> fraction(Word x) {
    return x(22, 0);
}
inline bool is_nan(Word x) {
    return exponent(x) == 255 && fraction(x) != 0;
}
inline bool is_infinite(Word x) {
    return exponent(x) == 255 && fraction(x) == 0;
}
inline bool is_finite(Word x) {
    return exponent(x) != 255;
}
inline bool is_zero(Word x) {
    return x(30, 0) == 0;
}
inline Word negate(Word x) {
    return x ^ Word(0x80000000);
}

// x < y for finite numbers; -0 counts as below +0.
inline bool below(Word x, Word y) {
    const bool negative = x[31], other = y[31];
    if (negative != other) return negative;
    return negative ? x(30, 0) > y(30, 0) : x(30, 0) < y(30, 0);
}

// The number of zeros above the highest one of `width` bits.
template <int width>
ap_uint<8> leading_zeros(ap_uint<width> x) {
#pragma HLS inline
    ap_uint<8> count = width;
    for (int bit = 0; bit < width; ++bit) {
#pragma HLS unroll
        if (x[bit]) count = width - 1 - bit;
    }
    return count;
}

// Rounds a significand of 24 bits and three more (the lowest stands for all lower ones); its exponent may be out of
// range.
inline Word rounded(bool sign, ap_int<12> exponent, ap_uint<27> significand) {
    if (exponent < 1) {  // subnormal: shift right until the exponent is 1
        const ap_int<12> away = 1 - exponent;
        if (away > 26) {
            significand = significand != 0;
        } else {
            const ap_uint<27> lost = significand & ((ap_uint<27>(1) << int(away)) - 1);
            significand = (significand >> int(away)) | ap_uint<27>(lost != 0);
        }
        exponent = 1;
    }
    ap_uint<25> kept = significand >> 3;
    const ap_uint<3> rest = significand(2, 0);
    if (rest > 4 || (rest == 4 && kept[0])) kept += 1;
    if (kept[24]) {
        kept >>= 1;
        exponent += 1;
    }
    Word packed = 0;
    if (exponent >= 255) {
        packed = kInfinity;
    } else {
        packed(22, 0) = kept(22, 0);
        packed(30, 23) = kept[23] ? ap_uint<8>(exponent) : ap_uint<8>(0);
    }
    packed[31] = sign;
    return packed;
}

inline Word add(Word a, Word b) {
#pragma HLS inline
    if (is_nan(a) || is_nan(b)) return kNan;
    const bool swap = b(30, 0) > a(30, 0);
    const Word big = swap ? b : a, small = swap ? a : b;
    const bool subtract = big[31] != small[31];
    if (is_infinite(big)) return is_infinite(small) && subtract ? Word(kNan) : big;
    const ap_uint<8> big_exponent = exponent(big) == 0 ? ap_uint<8>(1) : exponent(big);
    const ap_uint<8> small_exponent = exponent(small) == 0 ? ap_uint<8>(1) : exponent(small);
    ap_uint<27> high = 0, low = 0;
    high(25, 3) = fraction(big);
    high[26] = exponent(big) != 0;
    low(25, 3) = fraction(small);
    low[26] = exponent(small) != 0;
    const ap_uint<8> away = big_exponent - small_exponent;
    if (away > 26) {
        low = low != 0;
    } else {
        const ap_uint<27> lost = low & ((ap_uint<27>(1) << int(away)) - 1);
        low = (low >> int(away)) | ap_uint<27>(lost != 0);
    }
    const ap_uint<28> sum = subtract ? ap_uint<28>(high - low) : ap_uint<28>(high + low);
    if (sum == 0) return Word(a[31] && b[31]) << 31;
    ap_int<12> result_exponent = big_exponent;
    if (sum[27]) return rounded(big[31], result_exponent + 1, ap_uint<27>(sum >> 1) | ap_uint<27>(sum[0]));
    const ap_uint<8> zeros = leading_zeros<27>(ap_uint<27>(sum));
    const ap_uint<8> room = big_exponent - 1;  // no further than to a subnormal number
    const ap_uint<8> shift = zeros < room ? zeros : room;
    return rounded(big[31], result_exponent - shift, ap_uint<27>(sum) << int(shift));
}

inline Word subtract(Word a, Word b) {
    return add(a, negate(b));
}

// Returns the significand with its leading one at bit 23, and the matching exponent.
inline ap_uint<24> normalised(Word x, ap_int<12> &result_exponent) {
    ap_uint<24> significand = fraction(x);
    if (exponent(x) != 0) {
        significand[23] = 1;
        result_exponent = exponent(x);
    } else {
        const ap_uint<8> zeros = leading_zeros<24>(significand);
        significand <<= int(zeros);
        result_exponent = 1 - ap_int<12>(zeros);
    }
    return significand;
}

inline Word multiply(Word a, Word b) {
#pragma HLS inline
    const bool sign = a[31] != b[31];
    if (is_nan(a) || is_nan(b)) return kNan;
    if (is_infinite(a) || is_infinite(b)) {
        return is_zero(a) || is_zero(b) ? Word(kNan) : Word(Word(sign) << 31 | kInfinity);
    }
    if (is_zero(a) || is_zero(b)) return Word(sign) << 31;
    ap_int<12> exponent_a, exponent_b;
    const ap_uint<24> first = normalised(a, exponent_a), second = normalised(b, exponent_b);
    ap_uint<48> product = ap_uint<48>(first) * ap_uint<48>(second);
    ap_int<12> result_exponent = exponent_a + exponent_b - 127;
    if (product[47]) {
        result_exponent += 1;
    } else {
        product <<= 1;
    }
    ap_uint<27> significand = product >> 21;
    if (product(20, 0) != 0) significand[0] = 1;
    return rounded(sign, result_exponent, significand);
}

inline Word divide(Word a, Word b) {
    const bool sign = a[31] != b[31];
    if (is_nan(a) || is_nan(b)) return kNan;
    if (is_infinite(a)) return is_infinite(b) ? Word(kNan) : Word(Word(sign) << 31 | kInfinity);
    if (is_infinite(b)) return Word(sign) << 31;
    if (is_zero(b)) return is_zero(a) ? Word(kNan) : Word(Word(sign) << 31 | kInfinity);
    if (is_zero(a)) return Word(sign) << 31;
    ap_int<12> exponent_a, exponent_b;
    const ap_uint<24> first = normalised(a, exponent_a), second = normalised(b, exponent_b);
    ap_int<12> result_exponent = exponent_a - exponent_b + 127;
    ap_uint<26> rest = first;
    if (first < second) {
        rest <<= 1;
        result_exponent -= 1;
    }
    ap_uint<27> quotient = 0;  // 26 bits, then whether there is a remainder
    for (int bit = 26; bit > 0; --bit) {
#pragma HLS pipeline II = 1
        if (rest >= second) {
            rest -= second;
            quotient[bit] = 1;
        }
        rest <<= 1;
    }
    quotient[0] = rest != 0;
    return rounded(sign, result_exponent, quotient);
}

// The integer below a finite number of at least 0 and below 2^31.
inline ap_uint<31> truncated(Word x) {
    const ap_uint<8> e = exponent(x);
    if (e < 127) return 0;
    ap_uint<54> wide = fraction(x);
    wide[23] = 1;
    wide <<= int(e - 127);
    return wide >> 23;
}

// An integer of up to 24 bits, times 2^power.
inline Word of_integer(ap_uint<24> x, int power) {
    if (x == 0) return 0;
    const ap_uint<8> zeros = leading_zeros<24>(x);
    Word packed = 0;
    packed(22, 0) = ap_uint<23>(x << int(zeros));
    packed(30, 23) = 127 + 23 - int(zeros) + power;
    return packed;
}

}  // namespace float32
}  // namespace offramp
