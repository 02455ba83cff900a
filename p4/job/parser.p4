/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_JOB_PARSER_P4
#define OFFRAMP_JOB_PARSER_P4
#include "headers.p4"
#include "../allreduce/each_segment.p4"

// Packets of the systems that sum end in a parser error where they are short; all others are frames.
parser JobParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
#include "../hermod/states.p4"

    state behind_ipv4 {
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, IP_PROTOCOL_SWITCHGNN): switchgnn;
            (5, 0, IP_PROTOCOL_ALLREDUCE): allreduce;
            default: accept;
        }
    }

#include "../switchgnn/states.p4"
#include "../allreduce/states.p4"
}

control JobDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#endif
