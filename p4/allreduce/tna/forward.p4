/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_FORWARD_P4
#define OFFRAMP_ALLREDUCE_TNA_FORWARD_P4
#include "types.p4"

// Decides from the tables' and registers' answers what the lanes do and where the packet goes.
control AllReduceForward(inout headers_t hdr,
                inout allreduce_metadata_t meta,
                in bit<9> source,
                inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    action drop(allreduce_outcome_t outcome, allreduce_operation_t operation) {
        meta.outcome = outcome;
        meta.operation = operation;
        meta.pass.setInvalid();
        to_deparser.drop_ctl = 1;
    }

    // The upper lanes come with the second pass.
    action harvest(allreduce_outcome_t outcome, allreduce_operation_t operation) {
        meta.outcome = outcome;
        meta.operation = operation;
        meta.pass.setValid();
        meta.pass.page = meta.page;
        meta.pass.line = meta.line;
        meta.pass.padding = 0;
        to_tm.ucast_egress_port = RECIRCULATION_PORT;
    }

    action complete() {
        harvest(allreduce_outcome_t.COMPLETED, allreduce_operation_t.ADD);
        meta.pass.group = meta.group;
        hdr.allreduce.rank = SWITCH_RANK;
        hdr.allreduce.kind = KIND_RESULT;
    }

    action repeat() {
        harvest(allreduce_outcome_t.REPEATED, allreduce_operation_t.READ_LOW);
        meta.pass.group = 0;
        meta.pass.port = source;
        hdr.allreduce.rank = SWITCH_RANK;
        hdr.allreduce.kind = KIND_RESULT;
    }

    action climb(allreduce_outcome_t outcome, allreduce_operation_t operation) {
        harvest(outcome, operation);
        meta.pass.group = 0;
        meta.pass.port = meta.port;
        hdr.allreduce.rank = meta.as_rank;
    }

    // A sum of one contribution is in the packet already.
    action complete_alone() {
        meta.outcome = allreduce_outcome_t.COMPLETED;
        meta.operation = allreduce_operation_t.SET;
        hdr.allreduce.rank = SWITCH_RANK;
        hdr.allreduce.kind = KIND_RESULT;
        to_tm.mcast_grp_a = meta.group;
    }

    action climb_alone() {
        meta.outcome = allreduce_outcome_t.COMPLETED;
        meta.operation = allreduce_operation_t.SET;
        hdr.allreduce.rank = meta.as_rank;
        to_tm.ucast_egress_port = meta.port;
    }

    action pull(allreduce_operation_t operation) {
        meta.outcome = allreduce_outcome_t.PULLED;
        meta.operation = operation;
        meta.pulls = 1;
        hdr.allreduce.rank = SWITCH_RANK;
        hdr.allreduce.kind = KIND_PULL;
        hdr.ipv4.total_len = SHORT_BYTES;
        to_tm.mcast_grp_a = meta.group;
    }

    action descend() {
        meta.outcome = allreduce_outcome_t.DESCENDED;
        hdr.allreduce.rank = SWITCH_RANK;
        to_tm.mcast_grp_a = meta.group;
    }

    action deliver() {
        meta.operation = allreduce_operation_t.READ_HIGH;
        to_tm.mcast_grp_a = meta.pass.group;
        meta.pass.setInvalid();
    }

    action answer() {
        meta.operation = allreduce_operation_t.READ_HIGH;
        to_tm.ucast_egress_port = meta.pass.port;
        meta.pass.setInvalid();
    }

    table second_pass {
        key = {
            meta.code: exact @name("code");
            meta.pass.group: ternary @name("group");
        }
        actions = { deliver; answer; drop; }
        const default_action = drop(allreduce_outcome_t.SUPERSEDED, allreduce_operation_t.NONE);
        const entries = {
            (SAME, 0): answer();
            (SAME, _): deliver();
        }
        size = 2;
    }

    table verdict {
        key = {
            hdr.allreduce.kind: ternary @name("kind");
            meta.member: ternary @name("member");
            meta.descends: ternary @name("descends");
            meta.climbs: ternary @name("climbs");
            meta.code: ternary @name("code");
            meta.fill: ternary @name("fill");
            meta.repeated: ternary @name("repeated");
            meta.rest: ternary @name("rest");
            meta.asks: ternary @name("asks");
        }
        actions = { drop; complete; repeat; climb; complete_alone; climb_alone; pull; descend; }
        const default_action = drop(allreduce_outcome_t.STRANGER, allreduce_operation_t.NONE);
        const entries = {
            (KIND_RESULT, _, 1, _, _, _, _, _, _): descend();
            (KIND_PULL, _, 1, _, _, _, _, _, _): descend();
            (0 &&& 0xFE, 1, _, _, STALE, _, _, _, _): drop(allreduce_outcome_t.STALE, allreduce_operation_t.NONE);
            (0 &&& 0xFE, 1, _, 0, FRESH, _, _, 0, _): complete_alone();
            (0 &&& 0xFE, 1, _, 1, FRESH, _, _, 0, _): climb_alone();
            (0 &&& 0xFE, 1, _, _, FRESH, _, _, _, 1): pull(allreduce_operation_t.SET);
            (0 &&& 0xFE, 1, _, _, FRESH, _, _, _, 0): drop(allreduce_outcome_t.OPENED, allreduce_operation_t.SET);
            (0 &&& 0xFE, 1, _, 0, SAME, WHOLE, _, _, 1): repeat();
            (0 &&& 0xFE, 1, _, 1, SAME, WHOLE, _, _, 1): climb(allreduce_outcome_t.REPEATED, allreduce_operation_t.READ_LOW);
            (0 &&& 0xFE, 1, _, _, SAME, WHOLE, _, _, 0): drop(allreduce_outcome_t.DUPLICATE, allreduce_operation_t.NONE);
            (0 &&& 0xFE, 1, _, 0, SAME, LAST, _, _, _): complete();
            (0 &&& 0xFE, 1, _, 1, SAME, LAST, _, _, _): climb(allreduce_outcome_t.COMPLETED, allreduce_operation_t.ADD);
            (0 &&& 0xFE, 1, _, _, SAME, OPEN, 0, _, 1): pull(allreduce_operation_t.ADD);
            (0 &&& 0xFE, 1, _, _, SAME, OPEN, 0, _, 0): drop(allreduce_outcome_t.ADDED, allreduce_operation_t.ADD);
            (0 &&& 0xFE, 1, _, _, SAME, OPEN, _, _, 1): pull(allreduce_operation_t.NONE);
            (0 &&& 0xFE, 1, _, _, SAME, OPEN, _, _, 0): drop(allreduce_outcome_t.DUPLICATE, allreduce_operation_t.NONE);
            (0 &&& 0xFC, _, _, _, _, _, _, _, _): drop(allreduce_outcome_t.STRANGER, allreduce_operation_t.NONE);
            (_, _, _, _, _, _, _, _, _): drop(allreduce_outcome_t.MALFORMED, allreduce_operation_t.NONE);
        }
        size = 18;
    }

    apply {
        if (meta.pass.isValid()) {
            second_pass.apply();
        } else {
            verdict.apply();
        }
    }
}

#endif
