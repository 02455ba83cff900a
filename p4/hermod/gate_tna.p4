/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_GATE_TNA_P4
#define OFFRAMP_HERMOD_GATE_TNA_P4
#include "types.p4"

// Like gate.p4. A job's ports must be in one pipe, as each pipe has registers of its own.
control Gate(inout hermod_metadata_t meta, in bit<32> now, in bit<9> came_from, in bit<9> port) {
    Register<bit<32>, bit<9>>(PORTS) closed_at;
    Register<bit<32>, bit<9>>(PORTS) opened_at;
    bit<9> opens_at = port;

    RegisterAction<bit<32>, bit<9>, bit<32>>(closed_at) close = {
        void apply(inout bit<32> at) {
            at = now;
        }
    };

    RegisterAction<bit<32>, bit<9>, bit<32>>(closed_at) when_closed = {
        void apply(inout bit<32> at, out bit<32> stored) {
            stored = at;
        }
    };

    RegisterAction<bit<32>, bit<9>, bit<32>>(opened_at) open = {
        void apply(inout bit<32> at) {
            at = now;
        }
    };

    RegisterAction<bit<32>, bit<9>, bit<32>>(opened_at) when_opened = {
        void apply(inout bit<32> at, out bit<32> stored) {
            stored = at;
        }
    };

    @hidden
    action limit(bit<32> ticks) {
        meta.lease = ticks;
    }

    @hidden
    table lease {
        actions = { limit; }
        const default_action = limit(LEASE);
        size = 1;
    }

    @hidden
    action compare() {
        meta.opened = meta.closed |-| meta.opened;
        meta.closed = now - meta.closed;
    }

    @hidden
    table comparison {
        actions = { compare; }
        const default_action = compare;
        size = 1;
    }

    @hidden
    action subtract() {
        meta.closed = meta.lease |-| meta.closed;
    }

    @hidden
    table subtraction {
        actions = { subtract; }
        const default_action = subtract;
        size = 1;
    }

    apply {
        lease.apply();
        if (meta.opens == 1) {
            opens_at = came_from;
        }
        if (meta.closes == 1) {
            close.execute(port);
        } else if (meta.held == 1) {
            meta.closed = when_closed.execute(port);
        }
        if (meta.opens == 1) {
            open.execute(opens_at);
        } else if (meta.held == 1) {
            meta.opened = when_opened.execute(opens_at);
        }
        if (meta.held == 1) {
            comparison.apply();
            subtraction.apply();
            if (meta.opened != 0 && meta.closed != 0) {
                meta.drop = 1;
            }
        }
    }
}

#endif
