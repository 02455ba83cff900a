/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TELEMETRY_P4
#define OFFRAMP_SWITCHGNN_TELEMETRY_P4
#include "types.p4"

// Open aggregators now and at most. Kept apart from the pipeline: a target without room leaves it out.
control Telemetry(in switchgnn_outcome_t outcome, in bit<1> reopened) {
    register<bit<32>>(1) open;
    register<bit<32>>(1) peak;

    apply {
        if (outcome == switchgnn_outcome_t.COMPLETED || (outcome == switchgnn_outcome_t.FETCHED && reopened == 1)) {
            bit<32> now;
            open.read(now, 0);
            open.write(0, now - 1);
        } else if (outcome == switchgnn_outcome_t.OPENED && reopened == 0) {
            bit<32> now;
            bit<32> most;
            open.read(now, 0);
            now = now + 1;
            open.write(0, now);
            peak.read(most, 0);
            if (now > most) {
                most = now;
            }
            peak.write(0, most);
        }
    }
}

#endif
