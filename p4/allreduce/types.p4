/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TYPES_P4
#define OFFRAMP_ALLREDUCE_TYPES_P4
#include "frame.p4"

enum bit<2> allreduce_operation_t {
    NONE = 0,
    SET  = 1,
    ADD  = 2,
    READ = 3
}

// A segment_t whose 64 lanes are one number.
header wide_segment_t {
    bit<2048> lanes;
}

struct allreduce_metadata_t {
    bit<1>                member;    // the port may send in the name of the rank
    bit<1>                descends;  // the port leads to the switch above
    bit<32>               index;     // of the slot
    bit<32>               mask;      // bits of the ranks that the contribution stands for
    bit<32>               all;       // of the ranks that complete the sum
    bit<16>               group;     // everybody below
    bit<1>                climbs;    // the sum is a contribution to the switch above,
    bit<9>                uplink;    // behind this port,
    bit<8>                as_rank;   // in the name of this rank
    bit<1>                harvests;  // the sum leaves
    bit<1>                answers;   // to the port that asked alone
    bit<1>                pulls;     // PULL leaves
    allreduce_operation_t operation;
    allreduce_outcome_t   outcome;
}

#endif
