/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_MARK_P4
#define OFFRAMP_SWITCHGNN_MARK_P4
#include "types.p4"

// Egress: marks a packet with features that had to queue behind too many others.
control Mark(inout headers_t hdr, in standard_metadata_t standard_metadata) {
    apply {
        if (hdr.payload.isValid() && standard_metadata.enq_qdepth >= ECN_DEPTH) {
            hdr.switchgnn.ecn = 1;
        }
    }
}

#endif
