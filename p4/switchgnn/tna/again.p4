/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_AGAIN_P4
#define OFFRAMP_SWITCHGNN_TNA_AGAIN_P4
#include "types.p4"

struct again_headers_t {
    pass_t pass;
}

struct again_metadata_t { }

// Egress sees only mirrored packets, as they came to ingress: behind the new pass header of a packet that had made a
// pass before stands the old one, which is left out.
parser AgainParser(packet_in packet,
                   out again_headers_t hdr,
                   out again_metadata_t meta,
                   out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.pass);
        transition select(hdr.pass.number) {
            1: accept;
            default: skip;
        }
    }

    state skip {
        packet.advance(24);
        transition accept;
    }
}

control Again(inout again_headers_t hdr,
              inout again_metadata_t meta,
              in egress_intrinsic_metadata_t intrinsic,
              in egress_intrinsic_metadata_from_parser_t from_parser,
              inout egress_intrinsic_metadata_for_deparser_t to_deparser,
              inout egress_intrinsic_metadata_for_output_port_t to_port) {
    apply { }
}

control AgainDeparser(packet_out packet,
                      inout again_headers_t hdr,
                      in again_metadata_t meta,
                      in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        packet.emit(hdr);
    }
}

#endif
