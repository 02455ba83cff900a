#ifndef OFFRAMP_SWITCHGNN_BARRIER_P4
#define OFFRAMP_SWITCHGNN_BARRIER_P4

#include "types.p4"

// Ends a round when every host has said DONE. Repeats change nothing: a host counts once a round, and one that
// missed GO is told again. The DONE that completes the round passes once more to begin the next one, because the
// round was read in this pass already.
//
// A host can be ahead of the switch only if the switch lost its registers. A switch that has no round takes the DONE's:
// every host has finished those before it, and hosts that are further repeat DONE until the switch has caught up.
control Barrier(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(HOSTS) done;  // the round that the host waits for
    register<bit<16>>(1) ndone;
    bit<16> index;
    bit<16> members;
    bit<16> group;

    action host(bit<16> host_index, bit<9> port, bit<16> job_members, bit<16> job_group) {
        index = host_index;
        meta.port = port;
        members = job_members;
        group = job_group;
    }

    table hosts {
        key = { hdr.switchgnn.src_id: exact @name("host_id"); }
        actions = { host; @defaultonly NoAction; }
        const default_action = NoAction();
        size = HOSTS;
    }

    apply {
        index = 0;
        members = 0;
        group = 0;
        bit<16> behind = meta.now - hdr.switchgnn.round;
        if (!hosts.apply().hit) {
            meta.outcome = outcome_t.UNKNOWN;
        } else if (meta.begins != 0) {
            ndone.write(0, 0);
            meta.group = group;
            meta.outcome = outcome_t.GO;
        } else if (behind == 0) {
            bit<16> waits_for;
            done.read(waits_for, (bit<32>)index);
            done.write((bit<32>)index, meta.next);
            if (waits_for == meta.next) {
                meta.outcome = outcome_t.DONE_REPEATED;
            } else {
                meta.outcome = outcome_t.DONE;
                bit<16> arrived;
                ndone.read(arrived, 0);
                arrived = arrived + 1;
                if (arrived == members) {
                    arrived = 0;
                    meta.begins = meta.next;
                    meta.again = 1;
                }
                ndone.write(0, arrived);
            }
        } else if (behind < 0x8000) {
            meta.reply = 1;
            meta.outcome = outcome_t.GO_REPEATED;
        } else if (meta.now == 0) {
            meta.outcome = outcome_t.RESUMED;
            meta.begins = hdr.switchgnn.round;
            meta.again = 1;
        } else {
            meta.outcome = outcome_t.STALE;
        }
        if (meta.outcome == outcome_t.GO || meta.outcome == outcome_t.GO_REPEATED) {
            hdr.switchgnn.src_id = NO_ID;
            hdr.switchgnn.dst_id = NO_ID;
            hdr.switchgnn.block_id = hdr.switchgnn.block_id + 1;
            hdr.switchgnn.count = members;
            hdr.switchgnn.round = meta.now;
        }
    }
}

#endif
