/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_PULL_P4
#define OFFRAMP_SWITCHGNN_TNA_PULL_P4
#include "types.p4"

// FETCH goes to the owner of the vertex that is wanted, RESEND to the owner of the vertex that wants it, ACK to the
// owners of a vertex's neighbours.
control Pull(inout headers_t hdr,
             inout switchgnn_metadata_t meta,
             inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
             inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    action owner(bit<9> port) {
        meta.owned = 1;
        meta.port = port;
    }

    table owners {
        key = { hdr.switchgnn.dst_id: exact @name("vertex"); }
        actions = { owner; @defaultonly NoAction; }
        const default_action = NoAction();
        size = OWNER_ENTRIES;
    }

    action drop(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        to_deparser.drop_ctl = 1;
    }

    action resend() {
        meta.outcome = switchgnn_outcome_t.RESENT;
        to_tm.ucast_egress_port = meta.port;
    }

    action fetch() {
        meta.outcome = switchgnn_outcome_t.FETCHED;
        meta.releases = 1;
        to_tm.ucast_egress_port = meta.port;
    }

    action acknowledge() {
        meta.outcome = switchgnn_outcome_t.ACKNOWLEDGED;
        to_tm.mcast_grp_a = meta.neighbours;
    }

    table answer {
        key = {
            meta.member: ternary @name("member");
            meta.astray: ternary @name("astray");
            hdr.switchgnn.is_ack: ternary @name("is_ack");
            hdr.switchgnn.is_fetch: ternary @name("is_fetch");
            hdr.switchgnn.resend: ternary @name("resend");
            meta.behind: ternary @name("behind");
            meta.owned: ternary @name("owned");
            meta.known: ternary @name("known");
            meta.room: ternary @name("room");
            meta.neighbours: ternary @name("neighbours");
        }
        actions = { drop; resend; fetch; acknowledge; }
        const default_action = drop(switchgnn_outcome_t.STALE);
        const entries = {
            (0, _, _, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.STRANGER);
            (_, _, 1, _, 1, _, _, _, _, _): drop(switchgnn_outcome_t.FOREIGN);
            (_, _, _, _, _, 0, _, 0, _, _): drop(switchgnn_outcome_t.UNKNOWN);
            (_, 0, _, _, _, 0, _, _, 0, _): drop(switchgnn_outcome_t.MALFORMED);
            (_, 0, 1, 0, 0, 0, _, _, _, 0): drop(switchgnn_outcome_t.UNKNOWN);
            (_, 0, 1, 0, 0, 0, _, _, _, _): acknowledge();
            (_, 0, _, _, _, 0, 0, _, _, _): drop(switchgnn_outcome_t.UNKNOWN);
            (_, 0, 0, 0, 1, 0, _, _, _, _): resend();
            (_, 0, 0, 1, _, 0, _, _, _, _): fetch();
            (_, _, _, _, _, 0, _, _, _, _): drop(switchgnn_outcome_t.STRANGER);
        }
        size = 16;
    }

    apply {
        owners.apply();
        answer.apply();
    }
}

#endif
