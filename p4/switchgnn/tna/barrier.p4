/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_BARRIER_P4
#define OFFRAMP_SWITCHGNN_TNA_BARRIER_P4
#include "types.p4"

// Ends a round when every host has said DONE, and takes a round up again, as in the v1model program.
control Barrier(inout headers_t hdr,
                inout switchgnn_metadata_t meta,
                in bit<9> source,
                inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Register<bit<16>, bit<16>>(HOSTS) done;  // the round that the host waits for
    Register<bit<16>, bit<1>>(1) ndone;

    RegisterAction<bit<16>, bit<16>, bit<8>>(done) wait = {
        void apply(inout bit<16> waits_for, out bit<8> waits) {
            waits = this.predicate(waits_for == meta.next);
            waits_for = meta.next;
        }
    };

    RegisterAction<bit<16>, bit<1>, bit<8>>(ndone) arrive = {
        void apply(inout bit<16> arrived, out bit<8> all) {
            all = this.predicate(arrived + 1 == meta.members);
            if (arrived + 1 == meta.members) {
                arrived = 0;
            } else {
                arrived = arrived + 1;
            }
        }
    };

    RegisterAction<bit<16>, bit<1>, bit<8>>(ndone) none = {
        void apply(inout bit<16> arrived) {
            arrived = 0;
        }
    };

    action host(bit<16> host_index, bit<9> port, bit<16> job_members, bit<16> job_group) {
        meta.host = host_index;
        meta.astray = port ^ source;
        meta.port = port;
        meta.members = job_members;
        meta.group = job_group;
        meta.next = hdr.switchgnn.round + 1;
    }

    table hosts {
        key = { hdr.switchgnn.src_id: exact @name("host_id"); }
        actions = { host; @defaultonly NoAction; }
        const default_action = NoAction();
        size = HOSTS;
    }

    action drop(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setInvalid();
        to_deparser.drop_ctl = 1;
    }

    action go(switchgnn_outcome_t outcome) {
        meta.outcome = outcome;
        meta.pass.setInvalid();
        hdr.switchgnn.src_id = NO_ID;
        hdr.switchgnn.dst_id = NO_ID;
        hdr.switchgnn.block_id = hdr.switchgnn.block_id + 1;
        hdr.switchgnn.count = meta.members;
    }

    action go_to_all() {
        go(switchgnn_outcome_t.GO);
        hdr.switchgnn.round = meta.hop;
        to_tm.mcast_grp_a = meta.group;
    }

    action go_again() {
        go(switchgnn_outcome_t.GO_REPEATED);
        hdr.switchgnn.round = hdr.switchgnn.round + meta.behind;
        to_tm.ucast_egress_port = meta.port;
    }

    action recirculate(switchgnn_outcome_t outcome, bit<16> round) {
        meta.outcome = outcome;
        meta.pass.setValid();
        meta.pass.upper = 0;
        meta.pass.number = round;
        meta.again = 1;
        to_tm.ucast_egress_port = RECIRCULATION_PORT;
    }

    // The round was compared in this pass already: the next one advances it.
    action advance() {
        recirculate(switchgnn_outcome_t.DONE, meta.next);
    }

    // Rounds skip 0 when they wrap.
    action advance_to_one() {
        recirculate(switchgnn_outcome_t.DONE, 1);
    }

    action resume() {
        recirculate(switchgnn_outcome_t.RESUMED, hdr.switchgnn.round);
    }

    table verdict {
        key = {
            meta.member: ternary @name("member");
            meta.members: ternary @name("members");
            meta.pass.isValid(): ternary @name("again");
            meta.astray: ternary @name("astray");
            meta.behind: ternary @name("behind");
            meta.waits: ternary @name("waits");
            meta.all: ternary @name("all");
            meta.next: ternary @name("next");
            meta.now: ternary @name("now");
        }
        actions = { drop; advance; advance_to_one; resume; go_to_all; go_again; }
        const default_action = drop(switchgnn_outcome_t.STRANGER);
        const entries = {
            (0, _, false, _, _, _, _, _, _): drop(switchgnn_outcome_t.STRANGER);
            (_, 0, _, _, _, _, _, _, _): drop(switchgnn_outcome_t.UNKNOWN);
            (_, _, true, _, _, _, _, _, _): go_to_all();
            (_, _, _, 0, 0, YES, _, _, _): drop(switchgnn_outcome_t.DONE_REPEATED);
            (_, _, _, 0, 0, NO, NO, _, _): drop(switchgnn_outcome_t.DONE);
            (_, _, _, 0, 0, NO, YES, 0, _): advance_to_one();
            (_, _, _, 0, 0, NO, YES, _, _): advance();
            (_, _, _, 0, _, _, _, _, 0): resume();
            (_, _, _, 0, 0x8000 &&& 0x8000, _, _, _, _): drop(switchgnn_outcome_t.STALE);
            (_, _, _, 0, _, _, _, _, _): go_again();
        }
        size = 16;
    }

    apply {
        hosts.apply();
        meta.now = meta.behind + hdr.switchgnn.round;
        if (meta.members != 0 && meta.behind == 0 && meta.astray == 0 && !meta.pass.isValid()) {
            meta.waits = wait.execute(meta.host);
        }
        if (meta.pass.isValid()) {
            none.execute(0);
        } else if (meta.waits == NO) {
            meta.all = arrive.execute(0);
        }
        verdict.apply();
    }
}

#endif
