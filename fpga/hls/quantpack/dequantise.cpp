// SPDX-License-Identifier: Apache-2.0
#include "common/float32.hpp"
#include "quantpack/quantpack.hpp"

namespace offramp {

using float32::Word;

void dequantise(hls::stream<Item<Bounds>> &bounds, hls::stream<Beat> &packed, hls::stream<Beat> &values,
                ap_uint<16> columns, ap_uint<4> bits, ap_uint<32> rows) {
#pragma HLS interface axis port = bounds
#pragma HLS interface axis port = packed
#pragma HLS interface axis port = values
#pragma HLS interface s_axilite port = columns
#pragma HLS interface s_axilite port = bits
#pragma HLS interface s_axilite port = rows
#pragma HLS interface s_axilite port = return
    const ap_uint<16> beats = (columns + kLanes - 1) / kLanes;
    const ap_uint<8> top = (ap_uint<9>(1) << int(bits)) - 1;
    for (ap_uint<32> row = 0; row < rows; ++row) {
        const Bounds limits = bounds.read().data;
        const Word span = float32::subtract(limits.greatest, limits.least);
        const Word step = float32::divide(span, float32::of_integer(top, 0));
        Line codes = 0;
        ap_uint<10> left = 0;  // bits
        for (ap_uint<16> beat = 0; beat < beats; ++beat) {
#pragma HLS pipeline II = 1
            if (left == 0) {
                codes = packed.read().data;
                left = 512;
            }
            Beat out = item_of(Line(0), beat == beats - 1);
            for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
                const ap_uint<8> code = ap_uint<8>(codes >> (lane * int(bits))) & top;
                const Word value = float32::add(float32::multiply(float32::of_integer(code, 0), step), limits.least);
                if (beat * kLanes + lane < columns) {
                    out.data(32 * lane + 31, 32 * lane) = code == top ? Word(limits.greatest) : value;
                }
            }
            codes >>= kLanes * int(bits);
            left -= kLanes * bits;
            const ap_uint<16> rest = columns - beat * kLanes;
            out.keep = first_bytes(rest > kLanes ? ap_uint<7>(64) : ap_uint<7>(rest * 4));
            out.strb = out.keep;
            values.write(out);
        }
    }
}

}  // namespace offramp
