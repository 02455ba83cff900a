// SPDX-License-Identifier: Apache-2.0
#include "kvs_lookup/kvs_lookup.hpp"

#include "common/crc.hpp"

namespace offramp {
namespace {

constexpr int kSlots = 4;
constexpr int kSlotBits = 128;

struct Held {
    ap_uint<64> key;
    Line lines[2];
};

void fetch(hls::stream<Item<ap_uint<64>>> &keys, hls::stream<Held> &held, const Line *first, const Line *second,
           ap_uint<32> mask, ap_uint<32> count) {
    for (ap_uint<32> i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
        Held pending;
        pending.key = keys.read().data;
        pending.lines[0] = first[crc<kCrc32c>(pending.key) & mask];
        pending.lines[1] = second[crc<kCrc32>(pending.key) & mask];
        held.write(pending);
    }
}

void match(hls::stream<Held> &held, hls::stream<Item<ap_uint<64>>> &addresses, ap_uint<32> count) {
    for (ap_uint<32> i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
        const Held looked = held.read();
        ap_uint<64> address = 0;
        for (int place = 2 * kSlots - 1; place >= 0; --place) {
#pragma HLS unroll
            const ap_uint<kSlotBits> slot = looked.lines[place / kSlots] >> (place % kSlots * kSlotBits);
            const ap_uint<64> there = slot >> 64;
            if (there != 0 && ap_uint<64>(slot) == looked.key) address = there;
        }
        addresses.write(item_of(address, i == count - 1));
    }
}

}  // namespace

void kvs_lookup(hls::stream<Item<ap_uint<64>>> &keys, hls::stream<Item<ap_uint<64>>> &addresses, const Line *first,
                const Line *second, ap_uint<32> mask, ap_uint<32> count) {
#pragma HLS interface axis port = keys
#pragma HLS interface axis port = addresses
#pragma HLS interface m_axi port = first bundle = first depth = kSimulatedLines latency = 100 num_read_outstanding = 64
#pragma HLS interface m_axi port = second bundle = second depth = kSimulatedLines latency = 100 num_read_outstanding = 64
#pragma HLS interface s_axilite port = mask
#pragma HLS interface s_axilite port = count
#pragma HLS interface s_axilite port = return
#pragma HLS dataflow
    hls::stream<Held> held("held");
#pragma HLS stream variable = held depth = 8
    fetch(keys, held, first, second, mask, count);
    match(held, addresses, count);
}

}  // namespace offramp
