/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_PARSER_P4
#define OFFRAMP_SWITCHGNN_TNA_PARSER_P4
#include "types.p4"

// Packets of other protocols are accepted without a SwitchGNN header; short ones end in a parser error.
parser SwitchGnnParser(packet_in packet,
                       out headers_t hdr,
                       out switchgnn_metadata_t meta,
                       out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.member = 0;
        meta.astray = 0;
        meta.upper = 0;
        meta.hop = 0;
        meta.behind = 0;
        meta.known = 0;
        meta.room = 0;
        meta.neighbours = 0;
        meta.owned = 0;
        meta.releases = 0;
        meta.marked = 0;
        meta.repeated = 0;
        meta.aggregates = 0;
        meta.delivers = 0;
        meta.last = 0;
        meta.code = 0;
        meta.members = 0;
        meta.now = 0;
        meta.waits = 0;
        meta.all = 0;
        meta.again = 0;
        meta.outcome = switchgnn_outcome_t.FOREIGN;
        transition select(intrinsic.ingress_port) {
            RECIRCULATION_PORT: again;
            default: ethernet;
        }
    }

    state again {
        packet.extract(meta.pass);
        meta.upper = meta.pass.upper;
        meta.hop = meta.pass.number;
        transition ethernet;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_SWITCHGNN): switchgnn;
            default: accept;
        }
    }

#include "../states.p4"
}

control SwitchGnnDeparser(packet_out packet,
                          inout headers_t hdr,
                          in switchgnn_metadata_t meta,
                          in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    Checksum() checksum;
    Mirror() mirror;

    apply {
        if (to_deparser.mirror_type == NEXT_PASS_MIRROR) {
            mirror.emit<pass_t>(meta.session, { 0, meta.next_hop });
        }
        hdr.ipv4.header_checksum = checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset,
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr
        });
        packet.emit(meta.pass);
        packet.emit(hdr);
    }
}

#endif
