/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_FRAME_P4
#define OFFRAMP_SWITCHGNN_FRAME_P4
// Shared by all targets: the packet and the possible outcomes of a pass.

#include "../include/ethernet.p4"
#include "../include/ipv4.p4"
#include "../include/switch_address.p4"
#include "../include/switchgnn.p4"
#include "sizes.p4"
#include "each_payload.p4"

// Number of outcomes.
#define SWITCHGNN_OUTCOMES 24

// The session that sends a copy of the packet, as it was received, to the recirculation port.
#define NEXT_PASS_SESSION 1

// Outcomes of a pass of a packet: exactly one, counted once.
enum bit<8> switchgnn_outcome_t {
    FOREIGN       = 0,   // not SwitchGNN, or of a type that this program does not serve
    MALFORMED     = 1,   // truncated, or a chunk that its vertex does not have
    STALE         = 2,   // of another round
    DUPLICATE     = 3,   // an upload that was accepted before
    UNKNOWN       = 4,   // a vertex, hop or host that the control plane did not announce
    OPENED        = 5,   // the first contribution to an aggregator in this round
    ADDED         = 6,   // a further contribution
    COMPLETED     = 7,   // the last contribution: the sum left as RESULT
    DELIVERED     = 8,   // the only contribution: left as RESULT, no aggregator was needed
    RAW           = 9,   // no aggregator was free: left as it was (strawman)
    SHARED        = 10,  // the same, to a worker that has this feature already (strawman)
    DONE          = 11,  // a host's first DONE of this round
    DONE_REPEATED = 12,
    GO            = 13,  // the round advanced: GO left to every host
    GO_REPEATED   = 14,  // GO left to one host that had missed it
    WAITING       = 15,  // the round is over but for packets on their way to a further pass (strawman)
    RELEASED      = 16,  // a contribution to a sum that its owner now collects itself: dropped
    FETCHED       = 17,  // FETCH: the aggregator was released, the packet went to the vertex's owner
    RESENT        = 18,  // RESEND: passed by the aggregators to the vertex that asked
    ACKNOWLEDGED  = 19,  // ACK: multicast to the owners of the vertex's neighbours
    RELAYED       = 20,  // passed on by a spine
    RESUMED       = 21,  // DONE to a switch that lost its registers: its round goes on
    STRANGER      = 22,  // from a port that may not send it
    HARVESTED     = 23   // a sum fetched its upper lanes and left as RESULT (Tofino)
}

#endif
