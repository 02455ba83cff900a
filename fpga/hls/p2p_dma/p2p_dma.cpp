// SPDX-License-Identifier: Apache-2.0
#include "p2p_dma/p2p_dma.hpp"

#include "common/device.hpp"

namespace offramp {
namespace {

constexpr int kCopy = 1;
constexpr int kLineBytes = 64;

ap_uint<8> checked(const Descriptor &wanted, const ap_uint<64> limits[kMemories]) {
#pragma HLS inline
    if (wanted.opcode != kCopy || wanted.reserved != 0) return kUnknownFunction;
    if (wanted.source_memory >= kMemories || wanted.destination_memory >= kMemories) return kOutOfBounds;
    const ap_uint<65> source_end = ap_uint<65>(wanted.source) + wanted.length;
    const ap_uint<65> destination_end = ap_uint<65>(wanted.destination) + wanted.length;
    if (source_end > limits[wanted.source_memory] || destination_end > limits[wanted.destination_memory]) {
        return kOutOfBounds;
    }
    const bool overlap = wanted.source_memory == wanted.destination_memory && wanted.source < destination_end &&
                         wanted.destination < source_end && wanted.length != 0;
    return overlap ? kFailed : kOk;
}

// `kLineBytes` bytes from `shift` bytes into two lines that follow each other.
Line funnel(const Line &low, const Line &high, ap_uint<6> shift) {
#pragma HLS inline
    const ap_uint<1024> joined = (ap_uint<1024>(high) << 512) | ap_uint<1024>(low);
    return Line(joined >> (int(shift) * 8));
}

// The first and the last line keep the bytes that are not the copy's: they are read before they are written.
void copy(const Line *source, Line *destination, ap_uint<64> from, ap_uint<64> to, ap_uint<32> length) {
    const ap_uint<6> into = to, out_of = from;
    const ap_uint<64> first = to >> 6, last = (to + length - 1) >> 6;
    const ap_uint<64> source_last = (from + length - 1) >> 6;
    const ap_uint<6> shift = out_of - into;
    const bool behind = out_of < into;  // the first line's bytes begin in the line before the source's
    ap_uint<64> reading = from >> 6;
    Line low = 0, high = 0;
    if (!behind) {
        low = source[reading];
        reading += 1;
    }
    for (ap_uint<64> line = first; line <= last; line += 1) {
#pragma HLS pipeline II = 1
        high = reading <= source_last ? source[reading] : Line(0);
        reading += 1;
        Line out = funnel(low, high, shift);
        low = high;
        const bool ragged = (line == first && into != 0) || (line == last && ap_uint<6>(to + length) != 0);
        if (ragged) {
            const Line old = destination[line];
            const ap_uint<7> begin = line == first ? ap_uint<7>(into) : ap_uint<7>(0);
            const ap_uint<7> end = line == last ? ap_uint<7>(ap_uint<6>(to + length - 1) + 1) : ap_uint<7>(kLineBytes);
            for (int byte = 0; byte < kLineBytes; ++byte) {
#pragma HLS unroll
                if (byte < begin || byte >= end) out(8 * byte + 7, 8 * byte) = old(8 * byte + 7, 8 * byte);
            }
        }
        destination[line] = out;
    }
}

}  // namespace

void p2p_dma(hls::stream<Item<Descriptor>> &descriptors, hls::stream<Item<DmaCompletion>> &completions, Line *host,
             Line *accelerator, Line *nic, const ap_uint<64> limits[kMemories], ap_uint<32> count) {
#pragma HLS interface axis port = descriptors
#pragma HLS interface axis port = completions
#pragma HLS interface m_axi port = host bundle = host depth = kSimulatedLines max_write_burst_length = 64 max_read_burst_length = 64
#pragma HLS interface m_axi port = accelerator bundle = accelerator depth = kSimulatedLines max_write_burst_length = 64
#pragma HLS interface m_axi port = nic bundle = nic depth = kSimulatedLines max_write_burst_length = 64
#pragma HLS interface s_axilite port = limits
#pragma HLS interface s_axilite port = count
#pragma HLS interface s_axilite port = return
    for (ap_uint<32> i = 0; i < count; ++i) {
        const Descriptor wanted = descriptors.read().data;
        const ap_uint<8> status = checked(wanted, limits);
        if (status == kOk && wanted.length != 0) {
            const Line *source = wanted.source_memory == 0 ? host : wanted.source_memory == 1 ? accelerator : nic;
            Line *destination = wanted.destination_memory == 0   ? host
                                : wanted.destination_memory == 1 ? accelerator
                                                                 : nic;
            copy(source, destination, wanted.source, wanted.destination, wanted.length);
        }
        const DmaCompletion done = {status, status == kOk ? wanted.length : ap_uint<32>(0), wanted.request};
        completions.write(item_of(done, i == count - 1));
    }
}

}  // namespace offramp
