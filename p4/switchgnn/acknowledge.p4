/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_ACKNOWLEDGE_P4
#define OFFRAMP_SWITCHGNN_ACKNOWLEDGE_P4
#include "types.p4"

// Multicasts ACK of a vertex to the owners of its neighbours in the block.
control Acknowledge(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    action owners(bit<16> group) {
        meta.group = group;
    }

    table ack_groups {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.src_id: exact @name("src_id");
        }
        actions = { owners; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLOT_ENTRIES;
    }

    apply {
        meta.outcome = switchgnn_outcome_t.UNKNOWN;
        if (ack_groups.apply().hit) {
            meta.outcome = switchgnn_outcome_t.ACKNOWLEDGED;
        }
    }
}

#endif
