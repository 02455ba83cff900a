/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_SLOT_P4
#define OFFRAMP_ALLREDUCE_SLOT_P4
#include "types.p4"

// State of a slot's chunk: its number, whose contributions are in the sum, their greatest exponent, all their
// flags. A slot whose chunk is older than the packet's is taken over, so nothing is ever cleaned: ranks run at most half
// the slots apart, and nobody lacks the sum that is overwritten. Chunk numbers are serial numbers; 0 is an empty slot.
control Slot(inout headers_t hdr, inout allreduce_metadata_t meta) {
    register<bit<32>>(SLOTS) chunk;
    register<bit<32>>(SLOTS) present;
    register<bit<16>>(SLOTS) exponent;
    register<bit<8>>(SLOTS) flags;

    apply {
        bit<32> tag;
        bit<32> before;
        bit<16> greatest;
        bit<8> flagged;
        chunk.read(tag, meta.index);
        bool same = tag == hdr.allreduce.chunk;
        if (!same && tag != 0 && hdr.allreduce.chunk - tag >= 0x80000000) {
            meta.outcome = allreduce_outcome_t.STALE;
        } else {
            chunk.write(meta.index, hdr.allreduce.chunk);
            present.read(before, meta.index);
            exponent.read(greatest, meta.index);
            flags.read(flagged, meta.index);
            if (!same) {
                before = 0;
                greatest = 0;
                flagged = 0;
            }
            bool repeated = before & meta.mask != 0;
            bool again = hdr.allreduce.kind == KIND_AGAIN;
            if (hdr.allreduce.exponent > greatest) {
                greatest = hdr.allreduce.exponent;
            }
            flagged = flagged | hdr.allreduce.flags;
            bit<32> after = before | meta.mask;
            present.write(meta.index, after);
            exponent.write(meta.index, greatest);
            flags.write(meta.index, flagged);
            hdr.allreduce.present = after;
            hdr.allreduce.exponent = greatest;
            hdr.allreduce.flags = flagged;
            if (repeated) {
                meta.outcome = allreduce_outcome_t.DUPLICATE;
            } else if (before == 0) {
                meta.operation = allreduce_operation_t.SET;
                meta.outcome = allreduce_outcome_t.OPENED;
            } else {
                meta.operation = allreduce_operation_t.ADD;
                meta.outcome = allreduce_outcome_t.ADDED;
            }
            if (after == meta.all && !repeated) {
                meta.harvests = 1;
                meta.outcome = allreduce_outcome_t.COMPLETED;
            } else if (after == meta.all && again) {
                meta.operation = allreduce_operation_t.READ;
                meta.harvests = 1;
                meta.answers = 1;
                meta.outcome = allreduce_outcome_t.REPEATED;
            } else if (again) {
                meta.pulls = 1;
                meta.outcome = allreduce_outcome_t.PULLED;
            }
        }
    }
}

#endif
