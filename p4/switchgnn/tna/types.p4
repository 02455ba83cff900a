/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_TYPES_P4
#define OFFRAMP_SWITCHGNN_TNA_TYPES_P4
#include "../frame.p4"

const bit<3> NEXT_PASS_MIRROR = 1;

// Stands before Ethernet on the way to a further pass, and nowhere else.
header pass_t {
    bit<8>  upper;   // 1: the packet is a sum that lacks its upper lanes
    bit<16> number;  // of DATA: the hop; of DONE: the round that begins
}

// Values of this.predicate(condition); 0 remains where no register was read.
const bit<8> NO = 1;
const bit<8> YES = 2;

// Values of this.predicate(tag == round, left == 1).
const bit<8> FRESH = 1;
const bit<8> FURTHER = 2;
const bit<8> FRESH_OVER_ONE = 4;  // an earlier round left an aggregator with one contribution missing
const bit<8> LAST = 8;

// Of an aggregator, or of a vertex's chunk. The chunk is added to the lower byte alone, without a carry: Tofino adds
// fields of one width. The control plane keeps all chunks of a vertex within one page of 256.
struct index_t {
    bit<8> page;
    bit<8> line;
}

#define AT(index) (index.page ++ index.line)

struct switchgnn_metadata_t {
    pass_t              pass;
    bit<1>              member;      // the control plane bound the ingress port
    bit<9>              astray;      // not 0: the vertex or host is bound to another port
    bit<8>              upper;       // the pass header's: 0 in the first pass
    bit<16>             hop;         // the pass header's number: 0 in the first pass
    bit<16>             behind;      // the switch's round less the packet's
    // Of DATA.
    bit<1>              known;       // the vertex is in this block
    bit<8>              room;        // 0: a chunk that its vertex does not have
    bit<16>             neighbours;  // group of the owners of its neighbours; 0: it acknowledges to nobody
    index_t             slot;        // of the uploading vertex's chunk
    bit<8>              repeated;    // NO or YES: this upload was accepted before
    bit<1>              aggregates;  // the neighbour needs others too
    bit<1>              delivers;    // the neighbour needs this vertex alone
    bit<1>              last;        // the vertex has no further neighbour
    index_t             index;       // of the aggregator
    bit<16>             need;        // contributions that complete it
    bit<32>             dst_id;      // the vertex that it belongs to
    bit<8>              code;        // what its register says about this contribution
    bit<8>              marked;      // YES: a contribution to it met congestion
    // Of FETCH and RESEND.
    bit<1>              owned;       // the vertex that is wanted, or that wants it, is somebody's
    bit<1>              releases;    // the aggregator is given up
    // Of DONE.
    bit<16>             host;
    bit<16>             members;     // hosts of the job; 0: a host that was not announced
    bit<16>             group;
    bit<16>             now;         // the switch's round
    bit<16>             next;        // what the host waits for
    bit<8>              waits;       // NO or YES: it does already
    bit<8>              all;         // NO or YES: every host does
    // Of all.
    bit<9>              port;
    MirrorId_t          session;
    bit<16>             next_hop;
    bit<1>              again;       // a further pass follows
    switchgnn_outcome_t outcome;
}

#endif
