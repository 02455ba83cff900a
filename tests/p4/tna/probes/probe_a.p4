/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A: the registers of tag and of contributions left one after the other, then a table for the operation. */
#define PROBE_STATE \
    Register<bit<16>, bit<16>>(32768, 0xFFFF) tags; \
    RegisterAction<bit<16>, bit<16>, bit<16>>(tags) swap_tag = { \
        void apply(inout bit<16> tag, out bit<16> before) { before = tag; tag = hdr.gnn.round; } \
    }; \
    Register<bit<16>, bit<16>>(32768) lefts; \
    RegisterAction<bit<16>, bit<16>, bit<16>>(lefts) count = { \
        void apply(inout bit<16> left, out bit<16> now) { \
            if (md.tag == hdr.gnn.round) { left = left - 1; } else { left = hdr.gnn.degree - 1; } \
            now = left; \
        } \
    }; \
    action operate(bit<8> code) { md.code = code; } \
    table operation { \
        key = { md.tag: ternary; hdr.gnn.round: ternary; md.left: ternary; } \
        actions = { operate; } \
        default_action = operate(2); \
        size = 16; \
    }

#define PROBE_CHAIN \
    md.tag = swap_tag.execute(md.agg); \
    md.left = count.execute(md.agg); \
    operation.apply();

#include "frame.p4"
