/* SPDX-License-Identifier: Apache-2.0 */
/* Probe C: the pair as in B, and the lanes match on the predicate of its register action. */
#define PROBE_STATE \
    Register<pair_t, bit<16>>(32768) pairs; \
    RegisterAction<pair_t, bit<16>, bit<8>>(pairs) count = { \
        void apply(inout pair_t pair, out bit<8> code) { \
            code = this.predicate(pair.tag == (bit<32>) hdr.gnn.round, pair.left == 1); \
            if (pair.tag == (bit<32>) hdr.gnn.round) { pair.left = pair.left - 1; } \
            else { pair.tag = (bit<32>) hdr.gnn.round; pair.left = (bit<32>) hdr.gnn.degree - 1; } \
        } \
    };

#define PROBE_CHAIN md.code = count.execute(md.agg);

#include "frame.p4"
