/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_ORIGIN_P4
#define OFFRAMP_SWITCHGNN_TNA_ORIGIN_P4
#include "types.p4"

// Whether a worker is behind the port that a packet came in by, as in the v1model program. What recirculates comes from
// a port that nothing outside is on, and is not asked again.
control Origin(inout switchgnn_metadata_t meta, in bit<9> port) {
    action worker() {
        meta.member = 1;
    }

    table members {
        key = { port: exact @name("port"); }
        actions = { worker; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PORTS;
    }

    apply {
        members.apply();
    }
}

// Strangers' packets, by the port that they came in by.
control SwitchGnnStrangers(in switchgnn_outcome_t outcome, in bit<9> port) {
    Counter<bit<32>, bit<9>>(PORTS, CounterType_t.PACKETS) by_port;

    apply {
        if (outcome == switchgnn_outcome_t.STRANGER) {
            by_port.count(port);
        }
    }
}

#endif
