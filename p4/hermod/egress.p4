/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_EGRESS_P4
#define OFFRAMP_HERMOD_EGRESS_P4
#include "types.p4"
#include "gate.p4"
#include "congestion.p4"

// Behind the queues: marks, gates, and the counters of each queue.
control HermodEgress(inout headers_t hdr,
                     inout hermod_metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    // Index: (port << 3) + queue. Bytes as they leave.
    counter(PORT_QUEUES, CounterType.packets_and_bytes) sent;
    counter(PORT_QUEUES, CounterType.packets) marked;
    counter(PORT_QUEUES, CounterType.packets_and_bytes) dropped;
    HermodCongestion() congestion;
    Gate() gate;

    apply {
        if (standard_metadata.egress_port == standard_metadata.ingress_port && meta.replies == 0) {
            mark_to_drop(standard_metadata);  // no frame leaves where it came in
        } else {
            bit<32> index = (bit<32>)(standard_metadata.egress_port ++ meta.queue);
            bit<1> mark;
            meta.depth = standard_metadata.enq_qdepth;
            congestion.apply(hdr, meta, mark);
            bit<32> now = (bit<32>)(standard_metadata.egress_global_timestamp >> 6);
            gate.apply(meta, now, standard_metadata.ingress_port, standard_metadata.egress_port);
            if (meta.drop == 1) {
                dropped.count(index);
                mark_to_drop(standard_metadata);
            } else {
                sent.count(index);
                if (mark == 1) {
                    marked.count(index);
                }
            }
        }
    }
}

#endif
