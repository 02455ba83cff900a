#ifndef OFFRAMP_SWITCHGNN_ACKNOWLEDGE_P4
#define OFFRAMP_SWITCHGNN_ACKNOWLEDGE_P4

#include "types.p4"

// Multicasts ACK of a vertex to the owners of its neighbours in the block.
control Acknowledge(inout metadata_t meta) {
    apply {
        meta.group = meta.neighbours;
        meta.outcome = outcome_t.ACKNOWLEDGED;
        if (meta.group == 0) {
            meta.outcome = outcome_t.UNKNOWN;
        }
    }
}

#endif
