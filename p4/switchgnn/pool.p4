/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_POOL_P4
#define OFFRAMP_SWITCHGNN_POOL_P4
#include "types.p4"

// Aggregators allocated on demand: the strawman of the paper's section 2.3. A vertex keeps for the round what its
// first contribution got, an aggregator or none, because a count that misses contributions never completes.
// v1model only: `free` and `used` are read and written at places of their own in one pass.
control Pool(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool refused) {
    register<bit<32>>(VERTICES) decision;     // round (16 bits), aggregator or REFUSED (16 bits)
    register<bit<16>>(AGGREGATORS) left;      // contributions still missing
    register<bit<16>>(AGGREGATORS) released;  // stack of aggregators that were used and freed
    register<bit<16>>(1) free;                // its height
    register<bit<16>>(1) used;                // aggregators that were ever used: the first ones
    const bit<16> REFUSED = 0xFFFF;
    bit<16> capacity;

    action limit(bit<16> aggregators) {
        capacity = aggregators;
    }

    table memory {
        actions = { limit; }
        default_action = limit(AGGREGATORS);
    }

    apply {
        bit<32> entry = 0;
        bit<16> height;
        bit<16> first_unused;
        bit<16> aggregator = REFUSED;
        bool fresh = true;
        refused = false;
        memory.apply();
        free.read(height, 0);
        used.read(first_unused, 0);
        if (meta.need != 1) {
            decision.read(entry, meta.index);
            fresh = entry[31:16] != hdr.switchgnn.round;
        }
        if (!fresh) {
            aggregator = entry[15:0];
        } else if (height != 0) {
            released.read(aggregator, (bit<32>)(height - 1));
        } else if (first_unused < capacity) {
            aggregator = first_unused;
        }

        if (meta.need == 1) {
            // Its aggregator would be free again before the next packet.
            refused = aggregator == REFUSED;
            if (!refused) {
                meta.outcome = switchgnn_outcome_t.DELIVERED;
                meta.reply = 1;
            }
        } else {
            decision.write(meta.index, hdr.switchgnn.round ++ aggregator);
            meta.index = (bit<32>)aggregator;
            if (aggregator == REFUSED) {
                refused = true;
            } else if (fresh) {
                if (height != 0) {
                    free.write(0, height - 1);
                } else {
                    used.write(0, first_unused + 1);
                }
                left.write(meta.index, meta.need - 1);
                meta.operation = switchgnn_operation_t.SET;
                meta.outcome = switchgnn_outcome_t.OPENED;
            } else {
                bit<16> missing;
                left.read(missing, meta.index);
                missing = missing - 1;
                left.write(meta.index, missing);
                meta.operation = switchgnn_operation_t.ADD;
                meta.outcome = switchgnn_outcome_t.ADDED;
                if (missing == 0) {
                    released.write((bit<32>)height, aggregator);
                    free.write(0, height + 1);
                    meta.operation = switchgnn_operation_t.HARVEST;
                    meta.outcome = switchgnn_outcome_t.COMPLETED;
                    meta.reply = 1;
                }
            }
        }
    }
}

#endif
