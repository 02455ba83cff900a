/* SPDX-License-Identifier: Apache-2.0 */
// All-reduce in the switch for v1model: sums of chunks of any tensor, sent to every rank of the job.
#include <core.p4>
#include <v1model.p4>

#include "types.p4"
#include "parser.p4"
#include "sources.p4"
#include "slot.p4"
#include "lanes.p4"
#include "forward.p4"
#include "../include/bridge.p4"

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control AllReduceIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(OUTCOMES, CounterType.packets) outcomes;
    Sources() sources;
    Strangers() strangers;
    Slot() slot;
    Lanes() lanes;
    Forward() forward;
    Bridge() bridge;

    apply {
        meta.outcome = outcome_t.FOREIGN;
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = outcome_t.MALFORMED;
        } else if (hdr.allreduce.isValid()) {
            meta.outcome = outcome_t.DESCENDED;
            sources.apply(hdr, meta, standard_metadata.ingress_port);
        }
        if (meta.outcome == outcome_t.DESCENDED && meta.member == 1) {
            slot.apply(hdr, meta);
            lanes.apply(hdr, meta);
        } else if (meta.outcome != outcome_t.DESCENDED) {
            meta.descends = 0;
        }
        outcomes.count((bit<32>)(bit<8>)meta.outcome);
        strangers.apply(meta.outcome, standard_metadata.ingress_port);
        if (meta.outcome == outcome_t.FOREIGN) {
            bridge.apply(hdr, standard_metadata);
        } else {
            forward.apply(hdr, meta, standard_metadata);
        }
    }
}

V1Switch(
    AllReduceParser(),
    NoChecksum(),
    AllReduceIngress(),
    NoEgress(),
    Checksum(),
    AllReduceDeparser()
) main;
