/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_GUARD_P4
#define OFFRAMP_SWITCHGNN_GUARD_P4
#include "types.p4"

// Knows the vertices of a block, and lets each upload of a round in once: an aggregator that only counts would count
// a duplicate as another vertex. A FETCH names by its source the vertex whose aggregator it releases, a RESEND the one
// that it is of, an ACK the one that is complete: only the source that the vertex is bound to may.
control Guard(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool accepted)(bit<32> vertices) {
    register<bit<16>>(vertices) seen;
    counter(1, CounterType.packets) uploads;

    bit<9> source;

    action slot(bit<32> base, bit<8> chunks, bit<9> port) {
        meta.slot = base + (bit<32>)hdr.switchgnn.chunk_id;
        meta.chunks = chunks;
        source = port;
    }

    table slots {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.src_id: exact @name("src_id");
        }
        actions = { slot; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLOT_ENTRIES;
    }

    apply {
        accepted = false;
        source = 0;
        if (!slots.apply().hit) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        } else if (source != meta.source) {
            meta.outcome = switchgnn_outcome_t.STRANGER;
        } else if (hdr.switchgnn.chunk_id >= meta.chunks) {
            meta.outcome = switchgnn_outcome_t.MALFORMED;
        } else if (!hdr.payload.isValid()) {
            meta.index = meta.slot;
            accepted = true;
        } else {
            bit<16> last_round;
            seen.read(last_round, meta.slot);
            seen.write(meta.slot, hdr.switchgnn.round);
            if (last_round == hdr.switchgnn.round) {
                meta.outcome = switchgnn_outcome_t.DUPLICATE;
            } else {
                uploads.count(0);
                accepted = true;
            }
        }
    }
}

#endif
