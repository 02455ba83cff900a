/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_PARSER_P4
#define OFFRAMP_ALLREDUCE_TNA_PARSER_P4
#include "types.p4"

// Like the v1model program's parser; the second pass's header is read on the recirculation port alone.
parser AllReduceParser(packet_in packet,
                       out headers_t hdr,
                       out allreduce_metadata_t meta,
                       out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.page = 0;
        meta.line = 0;
        meta.member = 0;
        meta.descends = 0;
        meta.climbs = 0;
        meta.port = 0;
        meta.as_rank = 0;
        meta.group = 0;
        meta.mask = 0;
        meta.rest = 0;
        meta.code = 0;
        meta.fill = 0;
        meta.repeated = 0;
        meta.asks = 0;
        meta.pulls = 0;
        meta.operation = allreduce_operation_t.NONE;
        meta.outcome = allreduce_outcome_t.FOREIGN;
        transition select(intrinsic.ingress_port) {
            RECIRCULATION_PORT: second;
            default: ethernet;
        }
    }

    state second {
        packet.extract(meta.pass);
        meta.page = meta.pass.page;
        meta.line = meta.pass.line;
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
            (4, 5, 0, IP_PROTOCOL_ALLREDUCE): allreduce;
            default: accept;
        }
    }

    state allreduce {
        packet.extract(hdr.allreduce);
        transition select(hdr.allreduce.kind) {
            KIND_DATA: segment;
            KIND_AGAIN: asks;
            KIND_RESULT: segment;
            default: accept;
        }
    }

    state asks {
        meta.asks = 1;
        transition segment;
    }

    state segment {
        packet.extract(hdr.segment);
        transition accept;
    }
}

control AllReduceDeparser(packet_out packet,
                          inout headers_t hdr,
                          in allreduce_metadata_t meta,
                          in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    Checksum() checksum;

    apply {
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
