/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_ROUND_P4
#define OFFRAMP_SWITCHGNN_ROUND_P4
#include "types.p4"

// The current round. Rounds are serial numbers modulo 2^16 that skip 0 when they wrap: 0 is what registers hold
// before the first round, so no entry that was never written belongs to a round that carries data. An entry that was
// last written exactly 65,535 rounds ago looks current: every slot of a job must be used again within that many.
//
// A leaf also learns of a round from other switches: by GO, or by a partial sum that overtook it.
control Round(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    register<bit<16>>(1) current;

    apply {
        meta.next = hdr.switchgnn.round + 1;
        if (meta.next == 0) {
            meta.next = 1;
        }
        bit<16> claim = hdr.switchgnn.round;
        bool claims = false;
        if (meta.begins != 0) {
            claim = meta.begins;
            claims = true;
        } else if (meta.trunk == 1 && meta.transit == 0 && hdr.switchgnn.src_id == NO_ID) {
            claims = true;
        }
        current.read(meta.now, 0);
        bit<16> ahead = claim - meta.now;
        if (claims && ahead != 0 && (ahead < 0x8000 || meta.now == 0)) {
            current.write(0, claim);
            meta.now = claim;
        }
    }
}

#endif
