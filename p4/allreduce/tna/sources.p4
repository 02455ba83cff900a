/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_SOURCES_P4
#define OFFRAMP_ALLREDUCE_TNA_SOURCES_P4
#include "types.p4"

// Who may send what, by the entries of the v1model program and the rest: all ranks but the sender's.
control Sources(inout headers_t hdr, inout allreduce_metadata_t meta, in bit<9> port) {
    action contribute(bit<8> base, bit<32> mask, bit<32> all, bit<32> rest, bit<16> group) {
        meta.member = 1;
        meta.page = base;
        meta.line = hdr.allreduce.line;
        meta.mask = mask;
        meta.rest = rest;
        meta.group = group;
    }

    action climb(bit<8> base, bit<32> mask, bit<32> all, bit<32> rest, bit<16> group, bit<9> uplink, bit<8> as_rank) {
        contribute(base, mask, all, rest, group);
        meta.climbs = 1;
        meta.port = uplink;
        meta.as_rank = as_rank;
    }

    action descend(bit<16> group) {
        meta.descends = 1;
        meta.group = group;
    }

    table sources {
        key = {
            port: exact @name("port");
            hdr.allreduce.job: exact @name("job");
            hdr.allreduce.rank: exact @name("rank");
            hdr.allreduce.page: exact @name("page");
        }
        actions = { contribute; climb; descend; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SOURCE_ENTRIES;
    }

    apply {
        sources.apply();
    }
}

// Strangers' packets, by the port that they came in by.
control AllReduceStrangers(in allreduce_outcome_t outcome, in bit<9> port) {
    Counter<bit<32>, bit<9>>(PORTS, CounterType_t.PACKETS) by_port;

    apply {
        if (outcome == allreduce_outcome_t.STRANGER) {
            by_port.count(port);
        }
    }
}

#endif
