/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_FRAME_P4
#define OFFRAMP_ALLREDUCE_FRAME_P4
// Shared by all targets: the packet and its possible outcomes.

#include "../include/ethernet.p4"
#include "../include/ipv4.p4"
#include "../include/switch_address.p4"
#include "../include/allreduce.p4"
#include "sizes.p4"

// Bytes behind Ethernet of a packet without segments.
#define SHORT_BYTES 40

// Number of outcomes.
#define ALLREDUCE_OUTCOMES 12

// Counters of a page of slots: a power of two, one for each outcome.
#define MOST_OUTCOMES 16

// Outcomes of a packet: exactly one, counted once.
enum bit<8> allreduce_outcome_t {
    FOREIGN    = 0,   // not of all-reduce
    MALFORMED  = 1,   // truncated, or of no kind
    STRANGER   = 2,   // not by the port, rank and page that the control plane bound to the job
    STALE      = 3,   // of a chunk before the one that its slot has
    OPENED     = 4,   // the first contribution to a chunk
    ADDED      = 5,   // a further contribution
    COMPLETED  = 6,   // the last contribution: the sum left, to all or to the switch above
    DUPLICATE  = 7,   // a contribution that is in the sum: dropped
    REPEATED   = 8,   // the same with AGAIN: the complete sum left once more
    PULLED     = 9,   // AGAIN to an incomplete sum: the job was told which contributions it has
    DESCENDED  = 10,  // from the switch above, to all below
    SUPERSEDED = 11   // a sum that was replaced between its two passes (Tofino)
}

#endif
