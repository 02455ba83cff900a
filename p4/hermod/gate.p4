/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_GATE_P4
#define OFFRAMP_HERMOD_GATE_P4
#include "types.p4"

// The gates of the ports, in egress, behind the queues: what is held and finds its port's gate closed is dropped, and
// its sender sends it again. A gate is closed from when it was last closed until it is opened, or until its lease is
// over: the packet that opens it may be lost. Time is in ticks of 64 microseconds (65.536 on a Tofino) modulo
// 2^32: each 76 hours a gate may be wrong until its next microbatch, or for a lease. What is opened and closed in the
// same tick is open.
control Gate(inout hermod_metadata_t meta, in bit<32> now, in bit<9> came_from, in bit<9> port) {
    register<bit<32>>(PORTS) closed_at;
    register<bit<32>>(PORTS) opened_at;

    apply {
        if (meta.closes == 1) {
            closed_at.write((bit<32>)port, now);
        }
        if (meta.opens == 1) {
            opened_at.write((bit<32>)came_from, now);
        }
        if (meta.held == 1) {
            closed_at.read(meta.closed, (bit<32>)port);
            opened_at.read(meta.opened, (bit<32>)port);
            meta.opened = meta.closed |-| meta.opened;
            meta.closed = (bit<32>)LEASE |-| (now - meta.closed);
            if (meta.opened != 0 && meta.closed != 0) {
                meta.drop = 1;
            }
        }
    }
}

#endif
