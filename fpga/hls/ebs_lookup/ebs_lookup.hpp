// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a read lie: offramp.leo.functions.ebs.
#pragma once

#include "common/beat.hpp"
#include "common/device.hpp"

namespace offramp {

struct EbsRequest {
    ap_uint<32> volume, blocks;
    ap_uint<64> start, tick;
};

struct EbsAnswer {
    ap_uint<32> outcome, server;
    ap_uint<64> address;
};

// Answers `count` requests in their order, in one packet.
//   volumes    a line each; the kernel writes tokens and tick back
//   entries    the block table
//   addresses  of numbered segments
//   number_of_volumes, number_of_segments  lengths of the tables
void ebs_lookup(hls::stream<Item<EbsRequest>> &requests, hls::stream<Item<EbsAnswer>> &answers, Line *volumes,
                const ap_uint<64> *entries, const ap_uint<64> *addresses, ap_uint<32> number_of_volumes,
                ap_uint<32> number_of_segments, ap_uint<32> count);

}  // namespace offramp
