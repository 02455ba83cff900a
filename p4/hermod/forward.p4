/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_FORWARD_P4
#define OFFRAMP_HERMOD_FORWARD_P4
#include "types.p4"

// An Ethernet switch: to the host's port, or to all ports where nobody knows it (broadcasts are such). Group 0 is empty.
control HermodForward(in headers_t hdr, inout hermod_metadata_t meta) {
    action forward(bit<9> port) {
        meta.port = port;
    }

    action flood(bit<16> group) {
        meta.group = group;
    }

    action drop() {
        meta.drop = 1;
    }

    table macs {
        key = {
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { forward; flood; drop; }
        default_action = drop();
        size = MAC_ENTRIES;
    }

    apply {
        macs.apply();
    }
}

#endif
