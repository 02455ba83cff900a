#ifndef OFFRAMP_SWITCHGNN_AGGREGATE_P4
#define OFFRAMP_SWITCHGNN_AGGREGATE_P4

#include "types.p4"
#include "lanes.p4"

// Count-based aggregation. An entry whose round is not the packet's counts as empty, so nothing is ever cleaned.
control Aggregate(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(AGGREGATORS) state;  // round (16 bits), contributions still missing (16 bits)
    Lanes() lanes;

    apply {
        bit<32> entry;
        state.read(entry, meta.index);
        bit<16> left = entry[15:0];
        if (entry[31:16] == hdr.switchgnn.round) {
            if (left == 1) {
                meta.operation = operation_t.HARVEST;
                meta.outcome = outcome_t.COMPLETED;
                meta.reply = 1;
            } else {
                meta.operation = operation_t.ADD;
                meta.outcome = outcome_t.ADDED;
            }
            left = left - 1;
        } else {
            meta.operation = operation_t.SET;
            meta.outcome = outcome_t.OPENED;
            if (left != 0) {
                meta.reopened = 1;
            }
            left = meta.need - 1;
        }
        state.write(meta.index, hdr.switchgnn.round ++ left);
        lanes.apply(hdr, meta);
    }
}

#endif
