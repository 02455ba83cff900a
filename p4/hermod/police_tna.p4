/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_POLICE_TNA_P4
#define OFFRAMP_HERMOD_POLICE_TNA_P4
#include "types.p4"

// Bytes of the check sequence, which Tofino's meter counts and v1model's does not; neither program does.
#define FCS_BYTES 4

// Like police.p4.
control Police(inout hermod_metadata_t meta, in bit<9> port) {
    Meter<bit<12>>(PORT_QUEUES, MeterType_t.BYTES) by_source;
    Counter<bit<64>, bit<12>>(PORT_QUEUES, CounterType_t.PACKETS_AND_BYTES) policed;

    apply {
        bit<12> index = port ++ meta.queue;
        bit<8> colour = (bit<8>)by_source.execute(index = index, adjust_byte_count = FCS_BYTES);
        if (colour != 0) {
            meta.demoted = 1;
            policed.count(index, FCS_BYTES);
        }
    }
}

control Floor(inout hermod_metadata_t meta) {
    Meter<bit<9>>(PORTS, MeterType_t.BYTES) upper;
    Counter<bit<64>, bit<9>>(PORTS, CounterType_t.PACKETS_AND_BYTES) excess;

    apply {
        bit<8> colour = (bit<8>)upper.execute(index = meta.port, adjust_byte_count = FCS_BYTES);
        if (colour != 0) {
            meta.drop = 1;
            excess.count(meta.port, FCS_BYTES);
        }
    }
}

#endif
