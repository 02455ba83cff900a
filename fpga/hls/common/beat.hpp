// SPDX-License-Identifier: Apache-2.0
// A beat of a 512-bit AXI-Stream. Vitis takes its own struct, whose side channels it knows; C simulation one like it.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

namespace offramp {

#ifdef __SYNTHESIS__
}
#include <ap_axi_sdata.h>
namespace offramp {
using Beat = ap_axiu<512, 0, 0, 0>;
#else
struct Beat {
    ap_uint<512> data;
    ap_uint<64> keep;  // a bit for each byte of data that counts
    ap_uint<1> last;   // the end of a row, vector or packet
};
#endif

using Line = ap_uint<512>;  // of memory

// The bits of keep for the first `bytes` (1 to 64) of a beat.
inline ap_uint<64> first_bytes(ap_uint<7> bytes) {
    return ~ap_uint<64>(0) >> (64 - int(bytes));
}

}  // namespace offramp
