// SPDX-License-Identifier: Apache-2.0
// The address of each key's value: offramp.leo.functions.kvs.
#pragma once

#include "common/beat.hpp"

namespace offramp {

// Reads both lines of each key at once, through a port each, and answers in the order of the keys.
//   keys       `count` keys
//   addresses  `count` addresses, 0 where a key is unknown; the last one ends the packet
//   first, second  the table, twice: ports of the same memory
//   mask       number of buckets less one, a power of two less one
void kvs_lookup(hls::stream<Item<ap_uint<64>>> &keys, hls::stream<Item<ap_uint<64>>> &addresses, const Line *first,
                const Line *second, ap_uint<32> mask, ap_uint<32> count);

}  // namespace offramp
