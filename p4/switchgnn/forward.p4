/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_FORWARD_P4
#define OFFRAMP_SWITCHGNN_FORWARD_P4
#include "../include/checksum.p4"
#include "types.p4"

// Sends the packet where the pass decided. When a sum leaves and a further pass follows, two payloads go: the
// packet becomes the reply and a clone of what was received goes round.
control SwitchGnnForward(inout headers_t hdr,
                         inout switchgnn_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.reply == 1) {
            if (meta.again == 1) {
                clone_preserving_field_list(CloneType.I2E, NEXT_PASS_SESSION, PASS_FIELDS);
            }
            standard_metadata.egress_spec = meta.port;
        } else if (meta.again == 1) {
            standard_metadata.egress_spec = RECIRCULATION_PORT;
        } else if (meta.group != 0) {
            standard_metadata.mcast_grp = meta.group;
        } else {
            mark_to_drop(standard_metadata);
        }
        if (meta.transit == 0 && (meta.reply == 1 || meta.group != 0)) {
            hdr.ethernet.dst_addr = BROADCAST_MAC;
            hdr.ethernet.src_addr = SWITCH_MAC;
            hdr.ipv4.src_addr = SWITCH_IP;
            if (meta.two_level == 1) {
                hdr.ipv4.src_addr = LEAF_IP | (bit<32>)meta.leaf;
            }
            hdr.ipv4.dst_addr = BROADCAST_IP;
        }
    }
}

// The checksum of a reply; every other packet leaves with the header that it came with.
control ReplyChecksum(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    apply {
        UPDATE_IPV4_CHECKSUM(meta.reply == 1 || meta.group != 0)
    }
}

#endif
