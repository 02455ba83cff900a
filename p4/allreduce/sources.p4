/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_SOURCES_P4
#define OFFRAMP_ALLREDUCE_SOURCES_P4
#include "types.p4"

// Who may send what: a port speaks for one rank of a job, and reaches the job's pages alone. What is not in the table is a
// stranger's, and no register is touched. On a leaf the port to the spine brings sums down.
control Sources(inout headers_t hdr, inout allreduce_metadata_t meta, in bit<9> port) {
    // Action of the job's root: sums go to everybody in ``group``.
    action contribute(bit<8> base, bit<32> mask, bit<32> all, bit<16> group) {
        meta.member = 1;
        meta.index = (bit<32>)(base ++ hdr.allreduce.line);
        meta.mask = mask;
        meta.all = all;
        meta.group = group;
    }

    // Action of a leaf: sums go on to the switch behind ``uplink``.
    action climb(bit<8> base, bit<32> mask, bit<32> all, bit<16> group, bit<9> uplink, bit<8> as_rank) {
        contribute(base, mask, all, group);
        meta.climbs = 1;
        meta.uplink = uplink;
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
        bool up = hdr.allreduce.kind == KIND_DATA || hdr.allreduce.kind == KIND_AGAIN;
        bool down = hdr.allreduce.kind == KIND_RESULT || hdr.allreduce.kind == KIND_PULL;
        if (!up && !down) {
            meta.outcome = allreduce_outcome_t.MALFORMED;
        } else if (!(up && meta.member == 1) && !(down && meta.descends == 1)) {
            meta.outcome = allreduce_outcome_t.STRANGER;
        }
    }
}

// Strangers' packets, by the port that they came in by.
control AllReduceStrangers(in allreduce_outcome_t outcome, in bit<9> port) {
    counter(PORTS, CounterType.packets) by_port;

    apply {
        if (outcome == allreduce_outcome_t.STRANGER) {
            by_port.count((bit<32>)port);
        }
    }
}

#endif
