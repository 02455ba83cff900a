/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_PARSER_P4
#define OFFRAMP_SWITCHGNN_PARSER_P4
#include "types.p4"

// Packets of other protocols are accepted without a SwitchGNN header; short ones end in a parser error.
parser SwitchGnnParser(packet_in packet,
                       out headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

#include "states.p4"
}

#define EMIT(lanes, payload) packet.emit(hdr.payload);

control SwitchGnnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.switchgnn);
        EACH_SEGMENT(EMIT)
    }
}

#endif
