/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_FANOUT_P4
#define OFFRAMP_SWITCHGNN_TNA_FANOUT_P4
#include "types.p4"

// Finds the aggregator of a vertex's neighbour by hop: one hop per neighbour.
control Fanout(in headers_t hdr, inout switchgnn_metadata_t meta) {
    action aggregate(bit<16> base, bit<16> need, bit<9> port, bit<32> dst_id, bit<1> last) {
        meta.aggregates = 1;
        meta.index.page = base[15:8];
        meta.index.line = base[7:0] + hdr.switchgnn.chunk_id;
        meta.need = need;
        meta.port = port;
        meta.dst_id = dst_id;
        meta.last = last;
    }

    // The neighbour needs this vertex alone.
    action deliver(bit<9> port, bit<32> dst_id, bit<1> last) {
        meta.delivers = 1;
        meta.need = 1;
        meta.port = port;
        meta.dst_id = dst_id;
        meta.last = last;
    }

    table v2agg {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.src_id: exact @name("src_id");
            meta.hop: exact @name("hop");
        }
        actions = { aggregate; deliver; @defaultonly NoAction; }
        const default_action = NoAction();
        size = FANOUT_ENTRIES;
    }

    apply {
        v2agg.apply();
    }
}

#endif
