/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_TYPES_P4
#define OFFRAMP_ALLREDUCE_TNA_TYPES_P4
#include "../frame.p4"

// Stands before Ethernet on the way to the second pass, and nowhere else.
header pass_t {
    bit<8>  page;
    bit<8>  line;
    bit<16> group;  // 0: to ``port`` alone
    bit<7>  padding;
    bit<9>  port;
}

struct headers_t {
    ethernet_t  ethernet;
    ipv4_t      ipv4;
    allreduce_t allreduce;
    segment_t   segment;
}

// Values of this.predicate(tag == chunk, tag is newer); 0 remains where no register was read.
const bit<8> FRESH = 1;
const bit<8> SAME = 2;
const bit<8> STALE = 4;

// Values of this.predicate(present == rest, present == all).
const bit<8> OPEN = 1;
const bit<8> LAST = 2;
const bit<8> WHOLE = 4;

enum bit<8> allreduce_operation_t {
    NONE      = 0,
    SET       = 1,
    ADD       = 2,  // and the lower words of the sum into the packet
    READ_LOW  = 3,
    READ_HIGH = 4
}

struct allreduce_metadata_t {
    pass_t                pass;
    bit<8>                page;      // of the slot
    bit<8>                line;
    bit<1>                member;    // the port may send in the name of the rank
    bit<1>                descends;  // the port leads to the switch above
    bit<1>                climbs;    // the sum is a contribution to the switch above
    bit<9>                port;      // of the switch above
    bit<8>                as_rank;
    bit<16>               group;
    bit<32>               mask;
    bit<32>               rest;      // the ranks that complete the sum, less the mask
    bit<8>                code;      // how the slot's chunk and the packet's compare
    bit<8>                fill;      // how many contributions the sum had
    bit<32>               repeated;  // not 0: it has this one
    bit<1>                asks;      // kind is AGAIN
    bit<1>                pulls;
    allreduce_operation_t operation;
    allreduce_outcome_t   outcome;
}

#define SLOT_OF(meta) (meta.page ++ meta.line)

#endif
