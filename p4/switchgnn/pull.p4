/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_PULL_P4
#define OFFRAMP_SWITCHGNN_PULL_P4
#include "types.p4"

// Sends FETCH to the owner of the vertex that is wanted, and RESEND to the owner of the vertex that wants it.
control Pull(inout headers_t hdr, inout switchgnn_metadata_t meta, out bool known) {
    action owner(bit<9> port) {
        meta.port = port;
        meta.reply = 1;
    }

    table owners {
        key = { hdr.switchgnn.dst_id: exact @name("vertex"); }
        actions = { owner; @defaultonly NoAction; }
        const default_action = NoAction();
        size = OWNER_ENTRIES;
    }

    apply {
        known = owners.apply().hit;
        meta.outcome = switchgnn_outcome_t.RESENT;
        if (meta.transit == 1) {
            meta.outcome = switchgnn_outcome_t.RELAYED;
        }
        if (!known) {
            meta.outcome = switchgnn_outcome_t.UNKNOWN;
        }
    }
}

#endif
