/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_AGGREGATE_P4
#define OFFRAMP_SWITCHGNN_AGGREGATE_P4
#include "types.p4"
#include "congestion.p4"
#include "lanes.p4"

// Count-based aggregation. An entry whose round is not the packet's counts as empty, so nothing is ever cleaned.
// FETCH releases the entry: it is dead for the rest of the round, and late contributions do not open it again.
//
// Where packets are ``queued`` between the look at the round and here, one of a past round may come late. It is known by
// an entry of a later round; one that was last written 32,768 to 65,535 rounds ago looks later.
control Aggregate(inout headers_t hdr, inout switchgnn_metadata_t meta)(bool queued) {
    register<bit<32>>(AGGREGATORS) state;  // round (16 bits), contributions still missing or DEAD (16 bits)
    const bit<16> DEAD = 0x8000;
    SwitchGnnCongestion() congestion;
    EACH_PAYLOAD(PAYLOAD_LANES)

    apply {
        bit<32> entry;
        state.read(entry, meta.index);
        bit<16> left = entry[15:0];
        bit<1> open = 0;
        if (left != 0 && left != DEAD) {
            open = 1;
        }
        bool late = queued && entry[31:16] != 0 && entry[31:16] != hdr.switchgnn.round
                    && entry[31:16] - hdr.switchgnn.round < 0x8000;
        if (!hdr.payload.isValid()) {
            meta.outcome = switchgnn_outcome_t.FETCHED;
            if (!late) {
                meta.reopened = open;
                left = DEAD;
            }
        } else if (late) {
            meta.outcome = switchgnn_outcome_t.STALE;
        } else if (entry[31:16] != hdr.switchgnn.round) {
            meta.operation = switchgnn_operation_t.SET;
            meta.outcome = switchgnn_outcome_t.OPENED;
            meta.reopened = open;
            left = meta.need - meta.weight;
        } else if (left == DEAD) {
            meta.outcome = switchgnn_outcome_t.RELEASED;
        } else {
            if (left == meta.weight) {
                meta.operation = switchgnn_operation_t.HARVEST;
                meta.outcome = switchgnn_outcome_t.COMPLETED;
                meta.reply = 1;
            } else {
                meta.operation = switchgnn_operation_t.ADD;
                meta.outcome = switchgnn_outcome_t.ADDED;
            }
            left = left - meta.weight;
        }
        if (!late) {
            entry = hdr.switchgnn.round ++ left;
            congestion.apply(hdr, meta);
        }
        state.write(meta.index, entry);
        EACH_PAYLOAD(APPLY_LANES)
    }
}

#endif
