/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_FORWARD_P4
#define OFFRAMP_SWITCHGNN_TNA_FORWARD_P4
#include "types.p4"

// Decides from the tables' and registers' answers what becomes of DATA.
control SwitchGnnForward(inout headers_t hdr,
                inout switchgnn_metadata_t meta,
                inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    action drop(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setInvalid();
        to_deparser.drop_ctl = 1;
    }

    // The next of the vertex's neighbours.
    action next_hop(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setValid();
        meta.pass.upper = 0;
        meta.pass.number = meta.hop + 1;
        meta.again = 1;
        to_tm.ucast_egress_port = RECIRCULATION_PORT;
    }

    // The same for a copy of what was received, since the packet itself becomes the result.
    action mirror() {
        meta.again = 1;
        meta.session = NEXT_PASS_SESSION;
        meta.next_hop = meta.hop + 1;
        to_deparser.mirror_type = NEXT_PASS_MIRROR;
    }

    action result(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setInvalid();
        to_tm.ucast_egress_port = meta.port;
        hdr.switchgnn.src_id = NO_ID;
        hdr.switchgnn.dst_id = meta.dst_id;
        hdr.switchgnn.count = meta.need;
    }

    action result_and_next_hop(switchgnn_outcome_t outcome) {
        result(outcome);
        mirror();
    }

    // A sum leaves when it has fetched its upper lanes.
    action fetch_upper(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setValid();
        meta.pass.upper = 1;
        meta.pass.number = meta.hop;
        to_tm.ucast_egress_port = RECIRCULATION_PORT;
    }

    action fetch_upper_and_next_hop(switchgnn_outcome_t outcome) {
        fetch_upper(outcome);
        mirror();
    }

    table verdict {
        key = {
            meta.member: ternary @name("member");
            meta.astray: ternary @name("astray");
            meta.behind: ternary @name("behind");
            meta.pass.isValid(): ternary @name("again");
            meta.known: ternary @name("known");
            meta.room: ternary @name("room");
            meta.repeated: ternary @name("repeated");
            meta.aggregates: ternary @name("aggregates");
            meta.delivers: ternary @name("delivers");
            meta.code: ternary @name("code");
            meta.last: ternary @name("last");
            meta.upper: ternary @name("upper");
            hdr.switchgnn.more: ternary @name("more");
        }
        actions = { drop; next_hop; result; result_and_next_hop; fetch_upper; fetch_upper_and_next_hop; }
        const default_action = drop(switchgnn_outcome_t.STALE);
        const entries = {
            (_, _, 0, true, _, _, _, 1, _, YES, _, 1, _): result(switchgnn_outcome_t.HARVESTED);
            (_, _, _, true, _, _, _, _, _, _, _, 1, _): drop(switchgnn_outcome_t.STALE);
            (0, _, _, false, _, _, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.STRANGER);
            (_, _, 0, false, 0, _, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.UNKNOWN);
            (_, 0, 0, false, _, 0, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.MALFORMED);
            (_, 0, 0, false, _, _, YES, _, _, _, _, _, _): drop(switchgnn_outcome_t.DUPLICATE);
            (_, 0, 0, _, _, _, _, 0, 0, _, _, _, _): drop(switchgnn_outcome_t.UNKNOWN);
            (_, 0, 0, _, _, _, _, _, 1, _, 0, _, _): result_and_next_hop(switchgnn_outcome_t.DELIVERED);
            (_, 0, 0, _, _, _, _, _, 1, _, 1, _, _): result(switchgnn_outcome_t.DELIVERED);
            (_, 0, 0, _, _, _, _, _, _, FRESH, 0, _, _): next_hop(switchgnn_outcome_t.OPENED);
            (_, 0, 0, _, _, _, _, _, _, FRESH, 1, _, _): drop(switchgnn_outcome_t.OPENED);
            (_, 0, 0, _, _, _, _, _, _, FRESH_OVER_ONE, 0, _, _): next_hop(switchgnn_outcome_t.OPENED);
            (_, 0, 0, _, _, _, _, _, _, FRESH_OVER_ONE, 1, _, _): drop(switchgnn_outcome_t.OPENED);
            (_, 0, 0, _, _, _, _, _, _, FURTHER, 0, _, _): next_hop(switchgnn_outcome_t.ADDED);
            (_, 0, 0, _, _, _, _, _, _, FURTHER, 1, _, _): drop(switchgnn_outcome_t.ADDED);
            (_, 0, 0, _, _, _, _, _, _, LAST, 0, _, 0): result_and_next_hop(switchgnn_outcome_t.COMPLETED);
            (_, 0, 0, _, _, _, _, _, _, LAST, 1, _, 0): result(switchgnn_outcome_t.COMPLETED);
            (_, 0, 0, _, _, _, _, _, _, LAST, 0, _, _): fetch_upper_and_next_hop(switchgnn_outcome_t.COMPLETED);
            (_, 0, 0, _, _, _, _, _, _, LAST, 1, _, _): fetch_upper(switchgnn_outcome_t.COMPLETED);
            (_, _, 0, _, _, _, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.STRANGER);
        }
        size = 32;
    }

    apply {
        verdict.apply();
    }
}

#endif
