/* SPDX-License-Identifier: Apache-2.0 */
// SwitchGNN (Li et al., USENIX ATC 2025) for Tofino: what v1model.p4 does, in 12 stages of one pipe.
// Each pass of a packet accesses each register at most once.
// Two segments of 32 lanes cost no stage more than one.
#ifndef SEGMENTS
#define SEGMENTS 2
#endif

// Recirculation port of the first pipe; pipe n has 128 n + 68. All workers' ports are in its pipe.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 68
#endif

#include <core.p4>
#include <tna.p4>

#include "headers.p4"
#include "tna/types.p4"
#include "tna/parser.p4"
#include "tna/origin.p4"
#include "tna/round.p4"
#include "tna/barrier.p4"
#include "tna/guard.p4"
#include "tna/fanout.p4"
#include "tna/aggregate.p4"
#include "tna/pull.p4"
#include "tna/forward.p4"
#include "tna/again.p4"

control SwitchGnnIngress(inout headers_t hdr,
                         inout switchgnn_metadata_t meta,
                         in ingress_intrinsic_metadata_t intrinsic,
                         in ingress_intrinsic_metadata_from_parser_t from_parser,
                         inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                         inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Counter<bit<32>, bit<8>>(SWITCHGNN_OUTCOMES, CounterType_t.PACKETS) outcomes;
    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) recirculations;
    Origin() origin;
    Round() round;
    Barrier() barrier;
    Guard(AGGREGATORS) guard;
    Fanout() fanout;
    Pull() pull;
    Aggregate() aggregate;
    SwitchGnnForward() forward;
    SwitchGnnStrangers() strangers;

    // Whatever leaves the switch leaves in its name; to what goes round it makes no difference.
    action sign() {
        hdr.ethernet.dst_addr = BROADCAST_MAC;
        hdr.ethernet.src_addr = SWITCH_MAC;
        hdr.ipv4.src_addr = SWITCH_IP;
        hdr.ipv4.dst_addr = BROADCAST_IP;
        to_tm.bypass_egress = 1;
    }

    action drop(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        to_deparser.drop_ctl = 1;
    }

    apply {
        if (from_parser.parser_err != 0) {
            drop(switchgnn_outcome_t.MALFORMED);
        } else if (!hdr.switchgnn.isValid()) {
            drop(switchgnn_outcome_t.FOREIGN);
        } else {
            sign();
            origin.apply(meta, intrinsic.ingress_port);
            round.apply(hdr, meta);
            if (hdr.switchgnn.is_ack == 1 && hdr.switchgnn.is_fetch == 1 && hdr.switchgnn.resend == 0) {
                barrier.apply(hdr, meta, intrinsic.ingress_port, to_deparser, to_tm);
            } else {
                guard.apply(hdr, meta, intrinsic.ingress_port);
                if (hdr.payload.isValid()) {
                    fanout.apply(hdr, meta);
                } else {
                    pull.apply(hdr, meta, to_deparser, to_tm);
                }
                aggregate.apply(hdr, meta);
                if (hdr.payload.isValid()) {
                    forward.apply(hdr, meta, to_deparser, to_tm);
                }
            }
        }
        if (meta.again == 1) {
            recirculations.count(0);
        }
        outcomes.count((bit<8>)meta.outcome);
        strangers.apply(meta.outcome, intrinsic.ingress_port);
    }
}

Pipeline(SwitchGnnParser(), SwitchGnnIngress(), SwitchGnnDeparser(), AgainParser(), Again(), AgainDeparser()) pipe;

Switch(pipe) main;
