/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_INGRESS_P4
#define OFFRAMP_ALLREDUCE_INGRESS_P4
#include "types.p4"
#include "sources.p4"
#include "slot.p4"
#include "lanes.p4"
#include "forward.p4"

// What becomes of a packet; those of members are counted by the page of their job as well. What is not all-reduce's goes over the program's Bridge.
control AllReduceIngress(inout headers_t hdr,
                         inout allreduce_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    counter(ALLREDUCE_OUTCOMES, CounterType.packets) outcomes;
    counter(PAGES * MOST_OUTCOMES, CounterType.packets_and_bytes) by_page;
    Sources() sources;
    AllReduceStrangers() strangers;
    Slot() slot;
    AllReduceLanes() lanes;
    AllReduceForward() forward;
    Bridge() bridge;

    apply {
        meta.outcome = allreduce_outcome_t.FOREIGN;
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = allreduce_outcome_t.MALFORMED;
        } else if (hdr.allreduce.isValid()) {
            meta.outcome = allreduce_outcome_t.DESCENDED;
            sources.apply(hdr, meta, standard_metadata.ingress_port);
        }
        if (meta.outcome == allreduce_outcome_t.DESCENDED && meta.member == 1) {
            slot.apply(hdr, meta);
            lanes.apply(hdr, meta);
        } else if (meta.outcome != allreduce_outcome_t.DESCENDED) {
            meta.descends = 0;
        }
        outcomes.count((bit<32>)(bit<8>)meta.outcome);
        if (meta.member == 1) {
            by_page.count((bit<32>)(meta.index[15:8] ++ ((bit<8>)meta.outcome)[3:0]));
        }
        strangers.apply(meta.outcome, standard_metadata.ingress_port);
        if (meta.outcome == allreduce_outcome_t.FOREIGN) {
            bridge.apply(hdr, standard_metadata);
        } else {
            forward.apply(hdr, meta, standard_metadata);
        }
    }
}

#endif
