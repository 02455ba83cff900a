/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_ORIGIN_P4
#define OFFRAMP_SWITCHGNN_ORIGIN_P4
#include "types.p4"

// Who is behind the port that a packet came in by. What comes from a port that the control plane did not bind is a
// stranger's; what names a vertex or a host is, too, unless the control plane bound those to the packet's source
// (Guard, Barrier). Only a packet's first pass asks: what recirculates has a hop, which no packet brings from outside.
//
// A worker's port is a source of its own. On a leaf all uplinks are one source, of what the other leaves send in their
// own name; on a spine each port is one leaf's. Nobody else may use the level of a leaf.
control Origin(in headers_t hdr, inout switchgnn_metadata_t meta, in bit<9> port) {
    bit<4> sender = hdr.ipv4.src_addr[3:0];

    action worker() {
        meta.source = port;
    }

    action uplink() {
        meta.source = UPLINK;
        meta.trunk = 1;
    }

    action downlink(bit<4> leaf) {
        meta.source = port;
        meta.trunk = 1;
        meta.leaf = leaf;
    }

    table members {
        key = { port: exact @name("port"); }
        actions = { worker; uplink; downlink; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PORTS;
    }

    apply {
        if (meta.hop == 0) {
            if (!members.apply().hit) {
                meta.outcome = switchgnn_outcome_t.STRANGER;
            } else if (meta.trunk == 1) {
                bool from_leaf = hdr.ipv4.src_addr[31:4] == LEAF_IP[31:4];
                bool done = hdr.switchgnn.is_ack == 1 && hdr.switchgnn.is_fetch == 1;
                bool nobody = hdr.switchgnn.src_id == NO_ID;
                bit<2> level = 0;
                if (hdr.payload.isValid() || (done && !nobody)) {
                    level = LEVEL_LEAF;
                }
                if (!from_leaf || (sender == meta.leaf) != (meta.transit == 1) || hdr.switchgnn.level != level
                    || (hdr.payload.isValid() && !nobody)) {
                    meta.outcome = switchgnn_outcome_t.STRANGER;
                }
            } else if (meta.two_level == 1 && hdr.switchgnn.level != 0) {
                meta.outcome = switchgnn_outcome_t.STRANGER;
            }
        }
    }
}

// Strangers' packets, by the port that they came in by.
control SwitchGnnStrangers(in switchgnn_outcome_t outcome, in bit<9> port) {
    counter(PORTS, CounterType.packets) by_port;

    apply {
        if (outcome == switchgnn_outcome_t.STRANGER) {
            by_port.count((bit<32>)port);
        }
    }
}

#endif
