/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TYPES_P4
#define OFFRAMP_SWITCHGNN_TYPES_P4
#include "../include/passes.p4"
#include "frame.p4"

enum bit<2> switchgnn_operation_t {
    NONE    = 0,
    SET     = 1,
    ADD     = 2,
    HARVEST = 3   // add, and put the sum into the packet
}

// The source of what comes from other leaves. No worker of a rack is on this port.
const bit<9> UPLINK = 0;

struct switchgnn_metadata_t {
    @field_list(PASS_FIELDS)
    bit<16>               hop;        // which of the vertex's neighbours this pass serves
    @field_list(PASS_FIELDS)
    bit<16>               begins;     // the round that this pass begins, or 0
#ifdef STRAWMAN
    @field_list(PASS_FIELDS)
    bit<256>              delivered;  // ports that have this feature already, one bit each
#endif
    bit<1>                sums;       // egress adds the packet to an aggregator, or releases one
    bit<1>                again;      // another pass follows
    bit<1>                reply;      // the packet leaves to ``port``
    bit<9>                source;     // the port that the packet came in by; on a leaf UPLINK for all that lead to spines
    bit<1>                trunk;      // another switch sent the packet
    bit<9>                port;
    bit<16>               group;      // the packet leaves to this multicast group
    bit<16>               now;        // the switch's round
    bit<16>               next;       // the round after the packet's
    bit<32>               slot;       // of the uploading vertex's chunk
    bit<8>                chunks;
    bit<32>               index;      // of the aggregator
    bit<16>               need;       // contributions that complete it
    bit<32>               dst_id;     // the vertex that it belongs to
    bit<1>                last;       // the vertex has no further neighbour
    bit<1>                reopened;   // the aggregator was left open by an earlier round, or is released while open
    bit<16>               weight;     // contributions that the packet stands for
    bit<2>                level;      // of the reply
    bit<1>                two_level;  // this switch is a leaf or a spine
    bit<1>                transit;    // this switch is a spine
    bit<4>                leaf;       // which leaf it is
    bit<1>                ecn;        // a contribution met a queue above the threshold
    switchgnn_operation_t operation;
    switchgnn_outcome_t   outcome;
}

#endif
