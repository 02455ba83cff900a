/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_GUARD_P4
#define OFFRAMP_SWITCHGNN_TNA_GUARD_P4
#include "types.p4"

// Knows the vertices of a block, and lets each upload of a round in once, as in the v1model program.
control Guard(in headers_t hdr, inout switchgnn_metadata_t meta, in bit<9> source)(bit<32> vertices) {
    Register<bit<16>, bit<16>>(vertices) seen;

    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) uploads;

    RegisterAction<bit<16>, bit<16>, bit<8>>(seen) visit = {
        void apply(inout bit<16> round, out bit<8> repeated) {
            repeated = this.predicate(round == hdr.switchgnn.round);
            round = hdr.switchgnn.round;
        }
    };

    // Whether ``port`` is the packet's source is found where the entry is: nothing waits for a comparison.
    action slot(bit<16> base, bit<8> chunks, bit<9> port, bit<16> group) {
        meta.known = 1;
        meta.astray = port ^ source;
        meta.slot.page = base[15:8];
        meta.slot.line = base[7:0] + hdr.switchgnn.chunk_id;
        meta.room = chunks |-| hdr.switchgnn.chunk_id;
        meta.neighbours = group;
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
        if (!meta.pass.isValid()) {
            slots.apply();
        }
        if (hdr.payload.isValid() && meta.behind == 0 && meta.room != 0 && meta.astray == 0) {
            meta.repeated = visit.execute(AT(meta.slot));
        }
        if (meta.repeated == NO) {
            uploads.count(0);
        }
    }
}

#endif
