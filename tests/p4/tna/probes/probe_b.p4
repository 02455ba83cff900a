/* SPDX-License-Identifier: Apache-2.0 */
/* Probe B: tag and contributions left as a pair of words in one register, the operation by two gateways. */
#define PROBE_STATE \
    Register<pair_t, bit<16>>(32768) pairs; \
    RegisterAction<pair_t, bit<16>, bit<32>>(pairs) count = { \
        void apply(inout pair_t pair, out bit<32> left) { \
            if (pair.tag == (bit<32>) hdr.gnn.round) { left = pair.left; pair.left = pair.left - 1; } \
            else { left = 0; pair.tag = (bit<32>) hdr.gnn.round; pair.left = (bit<32>) hdr.gnn.degree - 1; } \
        } \
    };

#define PROBE_CHAIN \
    md.pair = count.execute(md.agg); \
    if (md.pair == 0) { md.code = 1; } else { md.code = 2; } \
    if (md.pair == 1) { md.code = 8; }

#include "frame.p4"
