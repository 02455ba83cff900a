/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_REPLICATE_P4
#define OFFRAMP_SWITCHGNN_REPLICATE_P4
#include "types.p4"

// Makes the replication engine copy the packet for each neighbour, towards the port of its owner; its replication id is the
// hop. Vertices whose neighbours are behind the same ports share a group.
control Replicate(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool known) {
    action copies(bit<16> group) {
        meta.group = group;
        meta.sums = 1;
    }

    table groups {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.src_id: exact @name("src_id");
        }
        actions = { copies; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLOT_ENTRIES;
    }

    apply {
        known = groups.apply().hit;
        if (!known) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        }
    }
}

#endif
