// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce.hpp"

#include "common/float32.hpp"

namespace offramp {
namespace {

using float32::Word;

// Adds in the order in which eight streams meet in a tree.
Word add_floats(const Word terms[kVectors]) {
#pragma HLS inline
    Word level[kVectors];
    for (int i = 0; i < kVectors; ++i) {
#pragma HLS unroll
        level[i] = terms[i];
    }
    for (int width = kVectors / 2; width > 0; width /= 2) {
#pragma HLS unroll
        for (int i = 0; i < width; ++i) {
#pragma HLS unroll
            level[i] = float32::add(level[2 * i], level[2 * i + 1]);
        }
    }
    return float32::is_nan(level[0]) ? Word(float32::kNan) : level[0];
}

Word add_integers(const Word terms[kVectors], bool saturate) {
#pragma HLS inline
    ap_int<35> total = 0;
    for (int i = 0; i < kVectors; ++i) {
#pragma HLS unroll
        total += ap_int<32>(terms[i]);
    }
    const ap_int<35> most = 0x7FFFFFFF, least = -most - 1;
    if (saturate && total > most) return 0x7FFFFFFF;
    if (saturate && total < least) return 0x80000000;
    return Word(ap_uint<35>(total));
}

ap_uint<16> to_bfloat16(Word x) {
#pragma HLS inline
    if (float32::is_nan(x)) return float32::kNan >> 16;
    return Word(x + 0x7FFF + x[16]) >> 16;
}

}  // namespace

void reduce(hls::stream<Beat> vectors[kVectors], hls::stream<Beat> &sum, ap_uint<2> type, ap_uint<4> number,
            ap_uint<32> beats) {
#pragma HLS interface axis port = vectors
#pragma HLS interface axis port = sum
#pragma HLS interface s_axilite port = type
#pragma HLS interface s_axilite port = number
#pragma HLS interface s_axilite port = beats
#pragma HLS interface s_axilite port = return
#pragma HLS array_partition variable = vectors complete
    for (ap_uint<32> beat = 0; beat < beats; ++beat) {
#pragma HLS pipeline II = 1
        Beat in[kVectors];
        for (int i = 0; i < kVectors; ++i) {
#pragma HLS unroll
            if (i < number) in[i] = vectors[i].read();
        }
        Beat out = in[0];
        for (int lane = 0; lane < 16; ++lane) {
#pragma HLS unroll
            Word terms[kVectors], upper[kVectors];
            const bool floating = type == kFloat32 || type == kBfloat16;
            for (int i = 0; i < kVectors; ++i) {
#pragma HLS unroll
                const Word word = Word(in[i].data(32 * lane + 31, 32 * lane));
                const Word nothing = floating ? Word(0x80000000) : Word(0);  // changes no sum
                terms[i] = i >= number ? nothing : type == kBfloat16 ? Word(word << 16) : word;
                upper[i] = i >= number ? nothing : Word(word & 0xFFFF0000);
            }
            Word word_sum;
            if (type == kBfloat16) {
                word_sum = Word(to_bfloat16(add_floats(upper))) << 16 | Word(to_bfloat16(add_floats(terms)));
            } else {
                word_sum = floating ? add_floats(terms) : add_integers(terms, type == kFixed);
            }
            out.data(32 * lane + 31, 32 * lane) = word_sum;
        }
        sum.write(out);
    }
}

}  // namespace offramp
