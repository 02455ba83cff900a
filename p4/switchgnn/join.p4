/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_JOIN_P4
#define OFFRAMP_SWITCHGNN_JOIN_P4
#include "types.p4"

// Runs at the leaf of a vertex's owner: finds the aggregator of a partial sum of another rack, and lets each in once.
control Join(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool accepted) {
    register<bit<32>>(PARTIALS) joined;  // round (16 bits), leaves whose partial sums came (a bit each)

    action home(bit<32> base, bit<8> chunks, bit<16> need, bit<9> port) {
        meta.index = base + (bit<32>)hdr.switchgnn.chunk_id;
        meta.chunks = chunks;
        meta.need = need;
        meta.port = port;
        meta.dst_id = hdr.switchgnn.dst_id;
        meta.last = 1;
    }

    table homes {
        key = {
            hdr.switchgnn.block_id: exact @name("block_id");
            hdr.switchgnn.dst_id: exact @name("dst_id");
        }
        actions = { home; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLOT_ENTRIES;
    }

    apply {
        accepted = false;
        meta.weight = hdr.switchgnn.count;
        bit<16> leaf = (bit<16>)1 << hdr.ipv4.src_addr[3:0];
        if (!homes.apply().hit) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        } else if (hdr.switchgnn.chunk_id >= meta.chunks || meta.weight == 0 || meta.weight > meta.need
                   || hdr.ipv4.src_addr[31:4] != LEAF_IP[31:4]) {
            meta.outcome = switchgnn_outcome_t.MALFORMED;
        } else {
            bit<32> entry;
            joined.read(entry, meta.index);
            if (entry[31:16] != hdr.switchgnn.round) {
                entry = hdr.switchgnn.round ++ 16w0;
            }
            joined.write(meta.index, entry | (bit<32>)leaf);
            if (entry[15:0] & leaf != 0) {
                meta.outcome = switchgnn_outcome_t.DUPLICATE;
            } else {
                accepted = true;
            }
        }
    }
}

#endif
