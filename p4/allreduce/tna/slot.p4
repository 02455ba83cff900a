/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_SLOT_P4
#define OFFRAMP_ALLREDUCE_TNA_SLOT_P4
#include "types.p4"

// The number of a slot's chunk, as in the v1model program; it says how the packet's chunk compares. The second pass asks
// whether the sum is still there.
control Chunk(in headers_t hdr, inout allreduce_metadata_t meta) {
    Register<bit<32>, bit<16>>(SLOTS) chunk;

    RegisterAction<bit<32>, bit<16>, bit<8>>(chunk) take = {
        void apply(inout bit<32> tag, out bit<8> code) {
            code = this.predicate(tag == hdr.allreduce.chunk, (int<32>)(tag - hdr.allreduce.chunk) > 0);
            if ((int<32>)(tag - hdr.allreduce.chunk) <= 0) {
                tag = hdr.allreduce.chunk;
            }
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<8>>(chunk) check = {
        void apply(inout bit<32> tag, out bit<8> code) {
            code = this.predicate(tag == hdr.allreduce.chunk);
        }
    };

    apply {
        if (meta.pass.isValid()) {
            meta.code = check.execute(SLOT_OF(meta));
        } else if (meta.member == 1 && (hdr.allreduce.kind == KIND_DATA || hdr.allreduce.kind == KIND_AGAIN)) {
            meta.code = take.execute(SLOT_OF(meta));
        }
    }
}

// Whose contributions are in the sum. A register gives one answer, so three know it: which of the packet's are there,
// whether the packet's complete them (by what is missing, since a register has two fields of a packet), and all.
control Present(inout headers_t hdr, inout allreduce_metadata_t meta) {
    Register<bit<32>, bit<16>>(SLOTS) seen;
    Register<bit<32>, bit<16>>(SLOTS) missing;
    Register<bit<32>, bit<16>>(SLOTS) present;

    RegisterAction<bit<32>, bit<16>, bit<32>>(seen) see_first = {
        void apply(inout bit<32> ranks) {
            ranks = meta.mask;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<32>>(seen) see = {
        void apply(inout bit<32> ranks, out bit<32> repeated) {
            repeated = ranks & meta.mask;
            ranks = ranks | meta.mask;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<8>>(missing) fill_first = {
        void apply(inout bit<32> ranks) {
            ranks = meta.rest;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<8>>(missing) fill = {
        void apply(inout bit<32> ranks, out bit<8> code) {
            code = this.predicate(ranks == meta.mask, ranks == 0);
            ranks = ranks & ~meta.mask;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<32>>(present) first = {
        void apply(inout bit<32> ranks, out bit<32> now) {
            ranks = meta.mask;
            now = ranks;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<32>>(present) join = {
        void apply(inout bit<32> ranks, out bit<32> now) {
            ranks = ranks | meta.mask;
            now = ranks;
        }
    };

    apply {
        if (!meta.pass.isValid()) {
            if (meta.code == FRESH) {
                see_first.execute(SLOT_OF(meta));
                fill_first.execute(SLOT_OF(meta));
                hdr.allreduce.present = first.execute(SLOT_OF(meta));
            } else if (meta.code == SAME) {
                meta.repeated = see.execute(SLOT_OF(meta));
                meta.fill = fill.execute(SLOT_OF(meta));
                hdr.allreduce.present = join.execute(SLOT_OF(meta));
            }
        }
    }
}

// The greatest exponent of the contributions, and all their flags.
control Agreement(inout headers_t hdr, in allreduce_metadata_t meta) {
    Register<bit<16>, bit<16>>(SLOTS) exponent;
    Register<bit<8>, bit<16>>(SLOTS) flags;

    RegisterAction<bit<16>, bit<16>, bit<16>>(exponent) set_exponent = {
        void apply(inout bit<16> greatest) {
            greatest = hdr.allreduce.exponent;
        }
    };

    RegisterAction<bit<16>, bit<16>, bit<16>>(exponent) raise_exponent = {
        void apply(inout bit<16> greatest, out bit<16> agreed) {
            greatest = max(greatest, hdr.allreduce.exponent);
            agreed = greatest;
        }
    };

    RegisterAction<bit<8>, bit<16>, bit<8>>(flags) set_flags = {
        void apply(inout bit<8> all) {
            all = hdr.allreduce.flags;
        }
    };

    RegisterAction<bit<8>, bit<16>, bit<8>>(flags) add_flags = {
        void apply(inout bit<8> all, out bit<8> agreed) {
            all = all | hdr.allreduce.flags;
            agreed = all;
        }
    };

    apply {
        if (!meta.pass.isValid()) {
            if (meta.code == FRESH) {
                set_exponent.execute(SLOT_OF(meta));
                set_flags.execute(SLOT_OF(meta));
            } else if (meta.code == SAME) {
                hdr.allreduce.exponent = raise_exponent.execute(SLOT_OF(meta));
                hdr.allreduce.flags = add_flags.execute(SLOT_OF(meta));
            }
        }
    }
}

#endif
