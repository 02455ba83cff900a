/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_ROLES_P4
#define OFFRAMP_HERMOD_ROLES_P4
#include "types.p4"

// The role of a frame at the gates of its job (UniTG: Zhang, 2026, chapter 5), by its DSCP. The first packet of a pipeline's
// first microbatch closes the gate of the port that it leaves by: the stage there will compute. The first packet of
// its last microbatch opens that of the port that it came in by: the stage there has nothing to do. What is held (the
// gradients of the language model) waits for an open gate. Without entries there are no gates.
control Roles(inout hermod_metadata_t meta) {
    action role(bit<1> closes, bit<1> opens, bit<1> held) {
        meta.closes = closes;
        meta.opens = opens;
        meta.held = held;
    }

    table roles {
        key = {
            meta.is_ip: exact @name("is_ip");
            meta.dscp: exact @name("dscp");
        }
        actions = { role; @defaultonly NoAction; }
        const default_action = NoAction;
        size = DSCPS;
    }

    apply {
        roles.apply();
    }
}

#endif
