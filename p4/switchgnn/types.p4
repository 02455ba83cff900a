#ifndef OFFRAMP_SWITCHGNN_TYPES_P4
#define OFFRAMP_SWITCHGNN_TYPES_P4

#include "../include/ethernet.p4"
#include "../include/ipv4.p4"
#include "../include/switchgnn.p4"
#include "sizes.p4"

// The list of metadata fields that live from one pass of a packet to its next.
#define PASS_FIELDS 1

// The clone session that sends a copy of the packet, as it was received, to the recirculation port.
#define NEXT_PASS_SESSION 1

struct headers_t {
    ethernet_t  ethernet;
    ipv4_t      ipv4;
    switchgnn_t switchgnn;
    payload_t   payload;
}

// What a pass of a packet came to: exactly one of these, counted once.
enum bit<8> outcome_t {
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
    WAITING       = 15   // the round is over but for packets on their way to a further pass (strawman)
}

enum bit<2> operation_t {
    NONE    = 0,
    SET     = 1,
    ADD     = 2,
    HARVEST = 3   // add, and put the sum into the packet
}

struct metadata_t {
    @field_list(PASS_FIELDS)
    bit<16>     hop;        // which of the vertex's neighbours this pass serves
    @field_list(PASS_FIELDS)
    bit<1>      advance;    // this pass ends the round
#ifdef STRAWMAN
    @field_list(PASS_FIELDS)
    bit<256>    delivered;  // ports that have this feature already, one bit each
#endif
    bit<1>      again;      // another pass follows
    bit<1>      reply;      // the packet leaves to ``port``
    bit<9>      port;
    bit<16>     group;      // the packet leaves to this multicast group
    bit<16>     now;        // the switch's round
    bit<16>     next;       // the round after the packet's
    bit<32>     slot;       // of the uploading vertex's chunk
    bit<8>      chunks;
    bit<32>     index;      // of the aggregator
    bit<16>     need;       // contributions that complete it
    bit<32>     dst_id;     // the vertex that it belongs to
    bit<1>      last;       // the vertex has no further neighbour
    bit<1>      reopened;   // the aggregator was left open by an earlier round
    operation_t operation;
    outcome_t   outcome;
}

#endif
