/* SPDX-License-Identifier: Apache-2.0 */
// All-reduce in the switch for Tofino: what v1model.p4 does with one segment, in 12 stages of one pipe.
// Each pass of a packet accesses each register at most once.
// Recirculation port of the first pipe; pipe n has 128 n + 68. All ranks' ports are in its pipe.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 68
#endif

#include <core.p4>
#include <tna.p4>

#include "tna/types.p4"
#include "tna/parser.p4"
#include "tna/sources.p4"
#include "tna/slot.p4"
#include "tna/lane.p4"
#include "tna/forward.p4"

control AllReduceIngress(inout headers_t hdr,
                         inout allreduce_metadata_t meta,
                         in ingress_intrinsic_metadata_t intrinsic,
                         in ingress_intrinsic_metadata_from_parser_t from_parser,
                         inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                         inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Counter<bit<32>, bit<8>>(ALLREDUCE_OUTCOMES, CounterType_t.PACKETS) outcomes;
    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) recirculations;
    Sources() sources;
    AllReduceStrangers() strangers;
    Chunk() chunk;
    Present() present;
    Agreement() agreement;
    AllReduceForward() forward;
    EACH_PAIR(PAIR)

    // Whatever leaves the switch leaves in its name; to what goes round it makes no difference.
    action sign() {
        hdr.ethernet.dst_addr = BROADCAST_MAC;
        hdr.ethernet.src_addr = SWITCH_MAC;
        hdr.ipv4.src_addr = SWITCH_IP;
        hdr.ipv4.dst_addr = BROADCAST_IP;
        to_tm.bypass_egress = 1;
    }

    action drop(allreduce_outcome_t outcome) {
        meta.outcome = outcome;
        to_deparser.drop_ctl = 1;
    }

    apply {
        bit<1> counted = 1;  // a Tofino tells validity only by a condition
        if (meta.pass.isValid()) {
            counted = 0;
        }
        if (from_parser.parser_err != 0) {
            drop(allreduce_outcome_t.MALFORMED);
        } else if (!hdr.allreduce.isValid()) {
            drop(allreduce_outcome_t.FOREIGN);
        } else {
            sign();
            if (!meta.pass.isValid()) {
                sources.apply(hdr, meta, intrinsic.ingress_port);
            }
            chunk.apply(hdr, meta);
            present.apply(hdr, meta);
            agreement.apply(hdr, meta);
            forward.apply(hdr, meta, intrinsic.ingress_port, to_deparser, to_tm);
            EACH_PAIR(APPLY_PAIR)
            if (meta.pulls == 1) {
                hdr.segment.setInvalid();
            }
        }
        if (counted == 1 || meta.outcome == allreduce_outcome_t.SUPERSEDED) {
            outcomes.count((bit<8>)meta.outcome);
            strangers.apply(meta.outcome, intrinsic.ingress_port);
        } else {
            recirculations.count(0);
        }
    }
}

// Egress does nothing.
struct nothing_t { }

parser NoEgressParser(packet_in packet, out nothing_t hdr, out nothing_t meta, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control NoEgress(inout nothing_t hdr,
                 inout nothing_t meta,
                 in egress_intrinsic_metadata_t intrinsic,
                 in egress_intrinsic_metadata_from_parser_t from_parser,
                 inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                 inout egress_intrinsic_metadata_for_output_port_t to_port) {
    apply { }
}

control NoEgressDeparser(packet_out packet,
                         inout nothing_t hdr,
                         in nothing_t meta,
                         in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply { }
}

Pipeline(AllReduceParser(), AllReduceIngress(), AllReduceDeparser(), NoEgressParser(), NoEgress(), NoEgressDeparser()) pipe;

Switch(pipe) main;
