/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_BARRIER_P4
#define OFFRAMP_SWITCHGNN_BARRIER_P4
#include "types.p4"

// Ends a round when every host has said DONE. Repeats change nothing: a host counts once a round, and one that
// missed GO is told again. The DONE that completes the round passes once more to begin the next one, because the
// round was read in this pass already.
//
// A host can be ahead of the switch only if the switch lost its registers. A switch that has no round takes the DONE's:
// every host has finished those before it, and hosts that are further repeat DONE until the switch has caught up.
//
// Among several switches a leaf counts its hosts, then says DONE to the root leaf, which counts leaves; GO comes back
// to the leaves and goes on to their hosts. A host's repeat repeats the leaf's DONE as well.
control Barrier(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    register<bit<16>>(HOSTS) done;  // the round that the host waits for
    register<bit<32>>(2) ndone;     // that round (16 bits), members that wait for it (16 bits); hosts, then leaves
    bit<16> index;
    bit<16> members;
    bit<16> group;
    bit<32> leaf_id;
    bit<9> uplink;
    bit<9> source;  // where its packets come from
    bit<1> climbs;
    bit<1> root;

    action host(bit<16> host_index, bit<9> port, bit<16> job_members, bit<16> job_group) {
        index = host_index;
        meta.port = port;
        source = port;
        members = job_members;
        group = job_group;
    }

    // On the root leaf: another leaf, or itself.
    action leaf(bit<16> host_index, bit<9> port, bit<16> job_members, bit<16> job_group) {
        host(host_index, port, job_members, job_group);
        source = UPLINK;
    }

    // A host of this leaf, which is leaf_id to the root behind the uplink, or to itself if it is the root.
    action rack(bit<16> host_index, bit<9> port, bit<16> rack_members, bit<32> leaf, bit<9> root_port, bit<1> is_root) {
        index = host_index;
        meta.port = port;
        source = port;
        members = rack_members;
        leaf_id = leaf;
        uplink = root_port;
        root = is_root;
        climbs = 1;
    }

    // GO of the root, for the hosts of this leaf.
    action hosts_of_leaf(bit<16> rack_group) {
        source = UPLINK;
        group = rack_group;
    }

    // On a spine: to the root, or to a group of leaves.
    action relay(bit<9> from, bit<9> port, bit<16> leaves) {
        source = from;
        meta.port = port;
        group = leaves;
    }

    table hosts {
        key = { hdr.switchgnn.src_id: exact @name("host_id"); }
        actions = { host; leaf; rack; hosts_of_leaf; relay; @defaultonly NoAction; }
        const default_action = NoAction();
        size = HOSTS;
    }

    apply {
        index = 0;
        members = 0;
        group = 0;
        leaf_id = NO_ID;
        uplink = 0;
        climbs = 0;
        root = 0;
        source = 0;
        bit<16> behind = meta.now - hdr.switchgnn.round;
        if (!hosts.apply().hit) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        } else if (meta.hop == 0 && source != meta.source) {
            meta.outcome = switchgnn_outcome_t.STRANGER;
        } else if (meta.transit == 1) {
            meta.outcome = switchgnn_outcome_t.RELAYED;
            meta.group = group;
            if (meta.group == 0) {
                meta.reply = 1;
            }
        } else if (meta.two_level == 1 && hdr.switchgnn.src_id == NO_ID) {
            meta.outcome = switchgnn_outcome_t.STALE;
            if (behind == 0) {
                meta.group = group;
                meta.outcome = switchgnn_outcome_t.GO;
            }
        } else if (meta.begins != 0) {
            meta.group = group;
            meta.outcome = switchgnn_outcome_t.GO;
        } else if (behind == 0) {
            bit<16> waits_for;
            done.read(waits_for, (bit<32>)index);
            done.write((bit<32>)index, meta.next);
            bit<16> first = 1;
            meta.outcome = switchgnn_outcome_t.DONE;
            if (waits_for == meta.next) {
                first = 0;
                meta.outcome = switchgnn_outcome_t.DONE_REPEATED;
            }
            bit<32> counted = (bit<32>)(hdr.switchgnn.level[0:0] & meta.two_level);
            bit<32> entry;
            ndone.read(entry, counted);
            bit<16> arrived = first;
            if (entry[31:16] == meta.next) {
                arrived = arrived + entry[15:0];
            }
            ndone.write(counted, meta.next ++ arrived);
            if (arrived == members && climbs == 1) {
                hdr.switchgnn.src_id = leaf_id;
                hdr.switchgnn.level = LEVEL_LEAF;
                meta.port = uplink;
                meta.reply = ~root;
                meta.again = root;
            } else if (arrived == members && first == 1) {
                meta.begins = meta.next;
                meta.again = 1;
            }
        } else if (meta.now == 0 && meta.two_level == 0) {
            meta.outcome = switchgnn_outcome_t.RESUMED;
            meta.begins = hdr.switchgnn.round;
            meta.again = 1;
        } else if (behind < 0x8000) {
            meta.reply = 1;
            meta.outcome = switchgnn_outcome_t.GO_REPEATED;
        } else {
            meta.outcome = switchgnn_outcome_t.STALE;
        }
        if (hdr.switchgnn.src_id != NO_ID && meta.transit == 0
            && (meta.outcome == switchgnn_outcome_t.GO || meta.outcome == switchgnn_outcome_t.GO_REPEATED)) {
            hdr.switchgnn.src_id = NO_ID;
            hdr.switchgnn.dst_id = NO_ID;
            hdr.switchgnn.block_id = hdr.switchgnn.block_id + 1;
            hdr.switchgnn.count = members;
            hdr.switchgnn.round = meta.now;
            hdr.switchgnn.level = hdr.switchgnn.level & ~(meta.two_level ++ meta.two_level);
        }
    }
}

#endif
