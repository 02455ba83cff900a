/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_CONGESTION_P4
#define OFFRAMP_SWITCHGNN_CONGESTION_P4
#include "types.p4"

// The mark of a sum: set if any of its contributions of this round met congestion.
control SwitchGnnCongestion(in headers_t hdr, inout switchgnn_metadata_t meta) {
    register<bit<16>>(AGGREGATORS) marked;  // the last round with a mark

    apply {
        meta.ecn = hdr.switchgnn.ecn;
        if (meta.ecn == 1) {
            marked.write(meta.index, hdr.switchgnn.round);
        } else {
            bit<16> last_round;
            marked.read(last_round, meta.index);
            if (last_round == hdr.switchgnn.round) {
                meta.ecn = 1;
            }
        }
    }
}

#endif
