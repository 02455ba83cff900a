/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_FORWARD_P4
#define OFFRAMP_ALLREDUCE_FORWARD_P4
#include "each_segment.p4"
#include "types.p4"

#define CUT(number) hdr.segments[number].setInvalid();

// Sends the packet where the slot decided; everything else is dropped.
control AllReduceForward(inout headers_t hdr,
                         inout allreduce_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    apply {
        bit<9> port = standard_metadata.ingress_port;
        if (meta.pulls == 1) {
            hdr.allreduce.kind = KIND_PULL;
            hdr.ipv4.total_len = SHORT_BYTES;
            EACH_SEGMENT(CUT)
        }
        if (meta.harvests == 1 && meta.climbs == 1) {
            // A leaf keeps no sums of the spine; it asks there for a rank that lacks one.
            hdr.allreduce.rank = meta.as_rank;
            standard_metadata.egress_spec = meta.uplink;
        } else if (meta.harvests == 1 || meta.pulls == 1 || meta.descends == 1) {
            hdr.allreduce.rank = SWITCH_RANK;
            if (meta.harvests == 1) {
                hdr.allreduce.kind = KIND_RESULT;
            }
            if (meta.answers == 1) {
                standard_metadata.egress_spec = port;
            } else {
                standard_metadata.mcast_grp = meta.group;
            }
        } else {
            mark_to_drop(standard_metadata);
        }
        hdr.ethernet.dst_addr = BROADCAST_MAC;
        hdr.ethernet.src_addr = SWITCH_MAC;
        hdr.ipv4.src_addr = SWITCH_IP;
        hdr.ipv4.dst_addr = BROADCAST_IP;
    }
}

#endif
