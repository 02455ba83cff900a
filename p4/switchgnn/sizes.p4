/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_SIZES_P4
#define OFFRAMP_SWITCHGNN_SIZES_P4
#include "../include/ports.p4"

// Each may be set with -D.

// Segments of 32 lanes of an aggregator, and of a packet at most: 1, as the paper has it, 2 or 4; a Tofino has no 4.
// A program that carries this system alone knows them as SEGMENTS.
#ifndef SWITCHGNN_SEGMENTS
#ifdef SEGMENTS
#define SWITCHGNN_SEGMENTS SEGMENTS
#else
#define SWITCHGNN_SEGMENTS 1
#endif
#endif

#ifndef AGGREGATORS
#define AGGREGATORS (32768 / SWITCHGNN_SEGMENTS)
#endif

// Aggregators whose partial sums of other racks are told apart; 1 where there is one switch.
#ifndef PARTIALS
#define PARTIALS AGGREGATORS
#endif

// Entries of v2agg: one for each directed cut edge.
#ifndef FANOUT_ENTRIES
#define FANOUT_ENTRIES 65536
#endif

// Entries of slots, and of ack_groups: one for each vertex of each block.
#ifndef SLOT_ENTRIES
#define SLOT_ENTRIES 32768
#endif

// Vertex chunks of a block of the strawman, which does not bound its blocks by its aggregators.
#ifndef VERTICES
#define VERTICES 131072
#endif

// Entries of owners: one for each boundary vertex.
#ifndef OWNER_ENTRIES
#define OWNER_ENTRIES 32768
#endif

// Packets in a queue from which on a packet that joins it is marked: 100 KB of DATA.
#ifndef ECN_DEPTH
#define ECN_DEPTH 560
#endif

#ifndef HOSTS
#define HOSTS 256
#endif

// The port to which packets go that need another pass. It carries nothing to the outside.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 500
#endif

#endif
