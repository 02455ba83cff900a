/* SPDX-License-Identifier: Apache-2.0 */
// The strawman of the SwitchGNN paper (section 2.3) for v1model: aggregators allocated as contributions arrive,
// raw features where none is free. It accesses registers of its free list twice in a pass and is not meant for
// hardware; packets and barrier are SwitchGNN's.
#define STRAWMAN

#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "origin.p4"
#include "round.p4"
#include "barrier.p4"
#include "guard.p4"
#include "fanout.p4"
#include "strawman.p4"
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
    InFlight() in_flight;
    Guard(VERTICES) guard;
    Fanout() fanout;
    Strawman() strawman;
    SwitchGnnStrangers() strangers;
    Telemetry() telemetry;
    SwitchGnnForward() forward;

    apply {
        bool go_on = true;
        meta.outcome = switchgnn_outcome_t.FOREIGN;
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = switchgnn_outcome_t.MALFORMED;
        } else if (hdr.switchgnn.isValid()) {
            origin.apply(hdr, meta, standard_metadata.ingress_port);
        }
        if (meta.outcome == switchgnn_outcome_t.FOREIGN && hdr.switchgnn.isValid()) {
            if (meta.begins != 0) {
                in_flight.apply(meta, go_on);
            }
            if (!go_on) {
                meta.outcome = switchgnn_outcome_t.WAITING;
                meta.again = 1;
            } else {
                round.apply(hdr, meta);
                if (hdr.switchgnn.is_ack == 1 && hdr.switchgnn.is_fetch == 1 && hdr.switchgnn.resend == 0) {
                    barrier.apply(hdr, meta);
                } else if (hdr.payload.isValid()) {
                    if (hdr.switchgnn.round != meta.now) {
                        meta.outcome = switchgnn_outcome_t.STALE;
                        go_on = false;
                    } else if (meta.hop == 0) {
                        guard.apply(hdr, meta, go_on);
                    }
                    if (go_on) {
                        fanout.apply(hdr, meta, go_on);
                    }
                    if (go_on) {
                        strawman.apply(hdr, meta);
                        in_flight.apply(meta, go_on);
                        meta.again = ~meta.last;
                    }
                }
            }
        }
        strangers.apply(meta.outcome, standard_metadata.ingress_port);
        telemetry.apply(meta.outcome, meta.reopened);
        outcomes.count((bit<32>)(bit<8>)meta.outcome);
        forward.apply(hdr, meta, standard_metadata);
    }
}

V1Switch(
    SwitchGnnParser(),
    NoChecksum(),
    SwitchGnnIngress(),
    Again(),
    ReplyChecksum(),
    SwitchGnnDeparser()
) main;
