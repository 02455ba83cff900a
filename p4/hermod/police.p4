/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_POLICE_P4
#define OFFRAMP_HERMOD_POLICE_P4
#include "types.p4"

// Demotes traffic above the rate of the port's class. A cell without a rate takes everything.
control Police(inout hermod_metadata_t meta, in bit<9> port) {
    meter(PORT_QUEUES, MeterType.bytes) by_source;  // (port << 3) + queue
    counter(PORT_QUEUES, CounterType.packets_and_bytes) policed;

    apply {
        bit<32> index = (bit<32>)(port ++ meta.queue);
        bit<2> colour = 0;
        by_source.execute_meter(index, colour);
        if (colour != 0) {
            meta.demoted = 1;
            policed.count(index);
        }
    }
}

// The lowest queue of a port keeps what all others together may not take: their excess is dropped, since in the lowest
// queue it would take that share.
control Floor(inout hermod_metadata_t meta) {
    meter(PORTS, MeterType.bytes) upper;
    counter(PORTS, CounterType.packets_and_bytes) excess;

    apply {
        bit<32> index = (bit<32>)meta.port;
        bit<2> colour = 0;
        upper.execute_meter(index, colour);
        if (colour != 0) {
            meta.drop = 1;
            excess.count(index);
        }
    }
}

#endif
