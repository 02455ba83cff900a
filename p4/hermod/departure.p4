/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_DEPARTURE_P4
#define OFFRAMP_HERMOD_DEPARTURE_P4
#include "types.p4"
#include "police.p4"
#include "forward.p4"

// Where a frame leaves, unless it is dropped.
control HermodDeparture(in headers_t hdr, inout hermod_metadata_t meta, inout standard_metadata_t standard_metadata) {
    Floor() floor;
    HermodForward() forward;

    apply {
        if (meta.drop == 0) {
            forward.apply(hdr, meta);
            if (meta.queue != 0 && meta.group == 0 && meta.drop == 0) {
                floor.apply(meta);
            }
        }
        if (meta.drop == 1) {
            mark_to_drop(standard_metadata);
        } else if (meta.group != 0) {
            standard_metadata.mcast_grp = meta.group;
        } else {
            standard_metadata.egress_spec = meta.port;
        }
    }
}

#endif
