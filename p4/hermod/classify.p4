/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_CLASSIFY_P4
#define OFFRAMP_HERMOD_CLASSIFY_P4
#include "types.p4"

// The queue of a frame: by its DSCP, or (is_ip 0, dscp 0) for frames that have none. The default action serves
// DSCPs that nobody announced.
control Classify(in headers_t hdr, inout hermod_metadata_t meta) {
    action enqueue(bit<3> queue, bit<3> profile) {
        meta.queue = queue;
        meta.profile = profile;
    }

    action drop() {
        meta.drop = 1;
    }

    table classes {
        key = {
            meta.is_ip: exact @name("is_ip");
            meta.dscp: exact @name("dscp");
        }
        actions = { enqueue; drop; }
        default_action = enqueue(0, 0);
        size = CLASS_ENTRIES;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            meta.is_ip = 1;
            meta.dscp = hdr.ipv4.diffserv[7:2];
        } else if (hdr.ipv6.isValid()) {
            meta.is_ip = 1;
            meta.dscp = hdr.ipv6.traffic_class[7:2];
        }
        classes.apply();
    }
}

#endif
