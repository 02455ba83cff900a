/* SPDX-License-Identifier: Apache-2.0 */
// SwitchGNN for v1model with the replication engine in place of recirculation: one ingress pass for an upload, and a copy
// of it in egress for each neighbour, which accesses that one's aggregator. Only completed sums leave.
// Each pass of a packet accesses each register at most once.
#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "kinds.p4"
#include "parser.p4"
#include "origin.p4"
#include "round.p4"
#include "barrier.p4"
#include "guard.p4"
#include "replicate.p4"
#include "fanout.p4"
#include "aggregate.p4"
#include "pull.p4"
#include "acknowledge.p4"
#include "telemetry.p4"
#include "forward.p4"
#include "again.p4"

control NoChecksum(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    apply { }
}

control SwitchGnnIngress(inout headers_t hdr,
                         inout switchgnn_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    counter(SWITCHGNN_OUTCOMES, CounterType.packets) outcomes;
    Origin() origin;
    Round() round;
    Barrier() barrier;
    Guard(AGGREGATORS) guard;
    Replicate() replicate;
    Pull() pull;
    Acknowledge() acknowledge;
    SwitchGnnStrangers() strangers;
    SwitchGnnForward() forward;

    apply {
        meta.outcome = switchgnn_outcome_t.FOREIGN;
        bit<3> kind = hdr.switchgnn.is_ack ++ hdr.switchgnn.is_fetch ++ hdr.switchgnn.resend;
        if (kind == FETCH_AGAIN) {
            kind = FETCH;
        }
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = switchgnn_outcome_t.MALFORMED;
        } else if (hdr.switchgnn.isValid()) {
            origin.apply(hdr, meta, standard_metadata.ingress_port);
        }
        if (meta.outcome == switchgnn_outcome_t.FOREIGN && hdr.switchgnn.isValid()) {
            round.apply(hdr, meta);
            if (kind == DONE) {
                barrier.apply(hdr, meta);
            } else if (kind == DATA || kind == FETCH || kind == RESEND || kind == ACK) {
                bool go_on = true;
                if (hdr.switchgnn.round != meta.now) {
                    meta.outcome = switchgnn_outcome_t.STALE;
                    go_on = false;
                } else {
                    guard.apply(hdr, meta, go_on);
                }
                if (go_on && kind == ACK) {
                    acknowledge.apply(hdr, meta);
                    go_on = false;
                } else if (go_on && kind != DATA) {
                    pull.apply(hdr, meta, go_on);
                } else if (go_on) {
                    replicate.apply(hdr, meta, go_on);
                }
                if (!go_on) {
                    meta.reply = 0;
                } else if (kind == FETCH) {
                    meta.sums = 1;
                }
            }
        }
        strangers.apply(meta.outcome, standard_metadata.ingress_port);
        if (meta.sums == 0) {
            outcomes.count((bit<32>)(bit<8>)meta.outcome);
        }
        forward.apply(hdr, meta, standard_metadata);
    }
}

control SwitchGnnEgress(inout headers_t hdr,
                        inout switchgnn_metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    counter(SWITCHGNN_OUTCOMES, CounterType.packets) outcomes;
    Again() again;
    Fanout() fanout;
    Aggregate(true) aggregate;
    Telemetry() telemetry;

    apply {
        again.apply(hdr, meta, standard_metadata);
        if (meta.sums == 1) {
            bool known = true;
            bool data = hdr.payload.isValid();
            meta.weight = 1;
            if (data) {
                meta.hop = standard_metadata.egress_rid;
                fanout.apply(hdr, meta, known);
            }
            if (known && data && meta.need == 1) {
                meta.outcome = switchgnn_outcome_t.DELIVERED;
                meta.reply = 1;
                meta.ecn = hdr.switchgnn.ecn;
            } else if (known) {
                aggregate.apply(hdr, meta);
            }
            if (data) {
                hdr.switchgnn.src_id = NO_ID;
                hdr.switchgnn.dst_id = meta.dst_id;
                hdr.switchgnn.count = meta.need;
                hdr.switchgnn.ecn = meta.ecn;
            }
            if (meta.reply == 0) {
                mark_to_drop(standard_metadata);
            }
            telemetry.apply(meta.outcome, meta.reopened);
            outcomes.count((bit<32>)(bit<8>)meta.outcome);
        }
    }
}

V1Switch(
    SwitchGnnParser(),
    NoChecksum(),
    SwitchGnnIngress(),
    SwitchGnnEgress(),
    ReplyChecksum(),
    SwitchGnnDeparser()
) main;
