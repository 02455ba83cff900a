/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_INGRESS_P4
#define OFFRAMP_SWITCHGNN_INGRESS_P4
#include "types.p4"
#include "kinds.p4"
#include "place.p4"
#include "origin.p4"
#include "round.p4"
#include "barrier.p4"
#include "guard.p4"
#include "fanout.p4"
#include "join.p4"
#include "aggregate.p4"
#include "pull.p4"
#include "acknowledge.p4"
#include "telemetry.p4"
#include "forward.p4"

// A pass of a packet. What is not SwitchGNN's goes over the program's Bridge.
control SwitchGnnIngress(inout headers_t hdr,
                         inout switchgnn_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    counter(SWITCHGNN_OUTCOMES, CounterType.packets) outcomes;
    Place() place;
    Origin() origin;
    Round() round;
    Barrier() barrier;
    Guard(AGGREGATORS) guard;
    Fanout() fanout;
    Join() join;
    Pull() pull;
    Acknowledge() acknowledge;
    Aggregate(false) aggregate;
    SwitchGnnStrangers() strangers;
    Telemetry() telemetry;
    SwitchGnnForward() forward;
    Bridge() bridge;

    apply {
        meta.outcome = switchgnn_outcome_t.FOREIGN;
        bit<3> kind = hdr.switchgnn.is_ack ++ hdr.switchgnn.is_fetch ++ hdr.switchgnn.resend;
        if (kind == FETCH_AGAIN) {
            kind = FETCH;
        }
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = switchgnn_outcome_t.MALFORMED;
        } else if (hdr.switchgnn.isValid()) {
            place.apply(meta);
            origin.apply(hdr, meta, standard_metadata.ingress_port);
        }
        if (meta.outcome == switchgnn_outcome_t.FOREIGN && hdr.switchgnn.isValid()) {
            round.apply(hdr, meta);
            if (kind == DONE) {
                barrier.apply(hdr, meta);
            } else if (kind == DATA || kind == FETCH || kind == RESEND || kind == ACK) {
                bool go_on = true;
                bool partial = meta.two_level == 1 && kind == DATA && hdr.switchgnn.level == LEVEL_LEAF;
                meta.weight = 1;
                if (meta.transit == 0 && hdr.switchgnn.round != meta.now) {
                    meta.outcome = switchgnn_outcome_t.STALE;
                    go_on = false;
                } else if (meta.hop == 0 && meta.transit == 0 && !partial) {
                    guard.apply(hdr, meta, go_on);
                }
                if (go_on && kind == ACK) {
                    acknowledge.apply(hdr, meta);
                    go_on = false;
                } else if (go_on && (kind != DATA || meta.transit == 1)) {
                    pull.apply(hdr, meta, go_on);
                }
                if (meta.transit == 1) {
                    go_on = false;
                } else if (go_on && partial) {
                    join.apply(hdr, meta, go_on);
                }
                if (go_on && kind == DATA && !partial) {
                    fanout.apply(hdr, meta, go_on);
                }
                if (!go_on) {
                    meta.reply = meta.reply & meta.transit;
                } else if (kind == DATA && meta.need == meta.weight) {
                    meta.outcome = switchgnn_outcome_t.DELIVERED;
                    meta.reply = 1;
                    meta.ecn = hdr.switchgnn.ecn;
                } else if (kind != RESEND) {
                    aggregate.apply(hdr, meta);
                }
                if (go_on && kind == DATA) {
                    if (meta.reply == 1) {
                        hdr.switchgnn.src_id = NO_ID;
                        hdr.switchgnn.dst_id = meta.dst_id;
                        hdr.switchgnn.count = meta.need;
                        hdr.switchgnn.ecn = meta.ecn;
                        if (meta.two_level == 1) {
                            hdr.switchgnn.level = meta.level;
                        }
                    }
                    meta.again = ~meta.last;
                }
            }
        }
        strangers.apply(meta.outcome, standard_metadata.ingress_port);
        telemetry.apply(meta.outcome, meta.reopened);
        outcomes.count((bit<32>)(bit<8>)meta.outcome);
        if (meta.outcome == switchgnn_outcome_t.FOREIGN && !hdr.switchgnn.isValid()) {
            bridge.apply(hdr, standard_metadata);
        } else {
            forward.apply(hdr, meta, standard_metadata);
        }
    }
}

#endif
