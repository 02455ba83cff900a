/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_FANOUT_P4
#define OFFRAMP_SWITCHGNN_FANOUT_P4
#include "types.p4"

// Finds the aggregator of a vertex's neighbour by hop: one hop per neighbour.
control Fanout(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool known) {
    action aggregate(bit<32> base, bit<16> need, bit<9> port, bit<32> dst_id, bit<1> last) {
        meta.index = base + (bit<32>)hdr.switchgnn.chunk_id;
        meta.need = need;
        meta.port = port;
        meta.dst_id = dst_id;
        meta.last = last;
    }

    // The neighbour needs this vertex alone.
    action deliver(bit<9> port, bit<32> dst_id, bit<1> last) {
        meta.need = 1;
        meta.port = port;
        meta.dst_id = dst_id;
        meta.last = last;
    }

    // The neighbour belongs to another rack: what this one contributes goes to its leaf as one partial sum.
    action contribute(bit<32> base, bit<16> need, bit<9> port, bit<32> dst_id, bit<1> last) {
        aggregate(base, need, port, dst_id, last);
        meta.level = LEVEL_LEAF;
    }

    table v2agg {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.src_id: exact @name("src_id");
            meta.hop: exact @name("hop");
        }
        actions = { aggregate; deliver; contribute; @defaultonly NoAction; }
        const default_action = NoAction();
        size = FANOUT_ENTRIES;
    }

    apply {
        known = v2agg.apply().hit;
        if (!known) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        }
    }
}

#endif
