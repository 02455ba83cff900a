#ifndef OFFRAMP_HERMOD_POLICE_P4
#define OFFRAMP_HERMOD_POLICE_P4

#include "types.p4"

// What is more than a port of the job may send in a class is demoted. A cell without a rate takes everything.
control Police(inout metadata_t meta, in bit<9> port) {
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

// The lowest queue of a port keeps what the others may not take: what exceeds their rate together goes by the lowest,
// with its DSCP.
control Floor(inout metadata_t meta) {
    meter(PORTS, MeterType.bytes) upper;
    counter(PORTS, CounterType.packets_and_bytes) lowered;

    apply {
        bit<32> index = (bit<32>)meta.port;
        bit<2> colour = 0;
        upper.execute_meter(index, colour);
        if (colour != 0) {
            meta.queue = 0;
            meta.profile = 0;
            lowered.count(index);
        }
    }
}

#endif
