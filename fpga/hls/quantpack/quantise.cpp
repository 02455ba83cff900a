// SPDX-License-Identifier: Apache-2.0
#include "common/float32.hpp"
#include "quantpack/quantpack.hpp"
#include "quantpack/random.hpp"

namespace offramp {
namespace {

using float32::Word;

constexpr unsigned kLeastRange = 0x0D800000;  // 2^-100
constexpr unsigned kNudge = 0x3F800002;       // 1 + 2^-22

// The next bfloat16 value that is not above.
Word down(Word x) {
#pragma HLS inline
    const bool away = x(15, 0) != 0 && x[31];
    return Word(x & 0xFFFF0000) + (away ? Word(0x10000) : Word(0));
}

Bounds bounds_of(Word least, Word greatest, bool finite, bool compact) {
    if (float32::is_zero(least)) least = 0;
    if (float32::is_zero(greatest)) greatest = 0;
    if (compact) {
        least = down(least);
        greatest = float32::negate(down(float32::negate(greatest)));
    }
    const Word span = float32::subtract(greatest, least);
    Bounds bounds;
    bounds.wrong = !finite || !float32::is_finite(span);
    bounds.least = least;
    bounds.greatest = float32::below(span, kLeastRange) ? least : greatest;
    return bounds;
}

// Lets the row through and gives its bounds at its end.
void measure(hls::stream<Beat> &values, hls::stream<Beat> &held, hls::stream<Bounds> &bounds, ap_uint<16> columns,
             bool compact, ap_uint<32> rows) {
    const ap_uint<16> beats = (columns + kLanes - 1) / kLanes;
    for (ap_uint<32> row = 0; row < rows; ++row) {
        Word least = 0, greatest = 0;
        bool finite = true;
        for (ap_uint<16> beat = 0; beat < beats; ++beat) {
#pragma HLS pipeline II = 1
            const Beat in = values.read();
            for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
                const Word x = Word(in.data(32 * lane + 31, 32 * lane));
                const bool first = beat == 0 && lane == 0;
                if (beat * kLanes + lane >= columns) continue;
                if (first || float32::below(x, least)) least = x;
                if (first || float32::below(greatest, x)) greatest = x;
                finite = finite && float32::is_finite(x);
            }
            held.write(in);
        }
        bounds.write(bounds_of(least, greatest, finite, compact));
    }
}

Word inverse_step(const Bounds &row, ap_uint<4> bits) {
    const Word span = float32::subtract(row.greatest, row.least);
    if (float32::is_zero(span)) return 0;
    const Word top = float32::of_integer((ap_uint<24>(1) << int(bits)) - 1, 0);
    return float32::multiply(float32::divide(top, span), kNudge);
}

ap_uint<8> code_of(Word x, Word least, Word inverse, Word fraction, ap_uint<8> top) {
#pragma HLS inline
    const Word scaled = float32::add(float32::multiply(float32::subtract(x, least), inverse), fraction);
    const ap_uint<31> code = float32::truncated(scaled);
    return code > top ? top : ap_uint<8>(code);
}

void pack(hls::stream<Item<ap_uint<64>>> &numbers, hls::stream<Beat> &held, hls::stream<Bounds> &measured,
          hls::stream<Item<Bounds>> &bounds, hls::stream<Beat> &packed, ap_uint<64> seed, ap_uint<16> columns,
          ap_uint<4> bits, ap_uint<32> rows) {
    const ap_uint<16> beats = (columns + kLanes - 1) / kLanes;
    const ap_uint<8> top = (ap_uint<9>(1) << int(bits)) - 1;
    const ap_uint<16> row_bytes = (ap_uint<20>(columns) * bits + 7) >> 3;
    for (ap_uint<32> row = 0; row < rows; ++row) {
        const Bounds limits = measured.read();
        const ap_uint<64> key = row_key(seed, numbers.read().data);
        const Word inverse = inverse_step(limits, bits);
        bounds.write(item_of(limits, row == rows - 1));
        Line filling = 0;
        ap_uint<10> filled = 0;  // bits
        ap_uint<16> left = row_bytes;
        for (ap_uint<16> beat = 0; beat < beats; ++beat) {
#pragma HLS pipeline II = 1
            const Beat in = held.read();
            Line codes = 0;
            for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
                const Word x = Word(in.data(32 * lane + 31, 32 * lane));
                ap_uint<8> code = code_of(x, limits.least, inverse, rounding(key, beat, lane), top);
                if (limits.wrong || beat * kLanes + lane >= columns) code = 0;
                codes |= Line(code) << (lane * int(bits));
            }
            filling |= codes << int(filled);
            filled += kLanes * bits;
            if (filled == 512 || beat == beats - 1) {
                const ap_uint<7> bytes = left > 64 ? ap_uint<7>(64) : ap_uint<7>(left);
                left -= bytes;
                Beat out = item_of(filling, beat == beats - 1);
                out.keep = first_bytes(bytes);
                out.strb = out.keep;
                packed.write(out);
                filling = 0;
                filled = 0;
            }
        }
    }
}

}  // namespace

void quantise(hls::stream<Item<ap_uint<64>>> &numbers, hls::stream<Beat> &values, hls::stream<Item<Bounds>> &bounds,
              hls::stream<Beat> &packed, ap_uint<64> seed, ap_uint<16> columns, ap_uint<4> bits, bool compact,
              ap_uint<32> rows) {
#pragma HLS interface axis port = numbers
#pragma HLS interface axis port = values
#pragma HLS interface axis port = bounds
#pragma HLS interface axis port = packed
#pragma HLS interface s_axilite port = seed
#pragma HLS interface s_axilite port = columns
#pragma HLS interface s_axilite port = bits
#pragma HLS interface s_axilite port = compact
#pragma HLS interface s_axilite port = rows
#pragma HLS interface s_axilite port = return
#pragma HLS dataflow
    hls::stream<Beat> held("held");  // a row waits here for its bounds while the next one comes in
    hls::stream<Bounds> measured("measured");
#pragma HLS stream variable = held depth = 2 * kMostColumns / kLanes
#pragma HLS stream variable = measured depth = 2
    measure(values, held, measured, columns, compact, rows);
    pack(numbers, held, measured, bounds, packed, seed, columns, bits, rows);
}

}  // namespace offramp
