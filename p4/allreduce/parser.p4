/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_PARSER_P4
#define OFFRAMP_ALLREDUCE_PARSER_P4
#include "each_segment.p4"
#include "types.p4"

// Packets of other protocols are accepted without its header; short ones end in a parser error.
parser AllReduceParser(packet_in packet,
                       out headers_t hdr,
                       inout allreduce_metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_ALLREDUCE): allreduce;
            default: accept;
        }
    }

#include "states.p4"
}

control AllReduceDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.allreduce);
        packet.emit(hdr.segments);
    }
}

#endif
