/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_AGAIN_P4
#define OFFRAMP_SWITCHGNN_AGAIN_P4
#include "types.p4"
#include "mark.p4"

// instance_type of a packet cloned from ingress to egress (simple_switch).
const bit<32> INGRESS_CLONE = 1;

// Egress: marks what met congestion, and hands a packet, or the clone of one that left as a reply, to its next pass.
control Again(inout headers_t hdr, inout switchgnn_metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(1, CounterType.packets) recirculations;
    Mark() mark;

    apply {
        mark.apply(hdr, standard_metadata);
        if (standard_metadata.instance_type == INGRESS_CLONE || (meta.again == 1 && meta.reply == 0)) {
            recirculations.count(0);
            meta.hop = meta.hop + 1;
            recirculate_preserving_field_list(PASS_FIELDS);
        }
    }
}

#endif
