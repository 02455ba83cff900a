/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_BRIDGE_P4
#define OFFRAMP_BRIDGE_P4

#ifndef BRIDGED_HOSTS
#define BRIDGED_HOSTS 1024
#endif

// Frames of other protocols go to their host's port unchanged; without entries they are dropped. Included behind the
// program's types.
control Bridge(in headers_t hdr, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table macs {
        key = {
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { forward; @defaultonly drop; }
        const default_action = drop();
        size = BRIDGED_HOSTS;
    }

    apply {
        macs.apply();
    }
}

#endif
