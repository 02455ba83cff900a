/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_TYPES_P4
#define OFFRAMP_HERMOD_TYPES_P4
// Shared by all targets: the metadata of a frame.

#include "../include/ethernet.p4"
#include "../include/ipv4.p4"
#include "../include/ipv6.p4"
#include "../include/passes.p4"
#include "sizes.p4"

struct hermod_metadata_t {
    bit<1>  is_ip;     // IPv4 or IPv6: the frame has a DSCP
    bit<6>  dscp;
    bit<2>  ecn;
    @field_list(PASS_FIELDS)
    bit<1>  demoted;   // best effort, whatever the frame says
    bit<16> taken;     // what the sum of a demoted IPv4 header loses
    bit<16> most;      // its checksum, all ones where it would be more
    bit<3>  queue;     // the highest goes first
    bit<3>  profile;   // what egress does when the queue is long
    bit<1>  drop;
    bit<1>  replies;   // the switch sends it in its own name: it may leave where the frame came in
    bit<9>  port;      // where to; 0 if it leaves to a group
    bit<16> group;     // where to; 0 if it leaves to a port
    bit<19> depth;     // of the queue, as the frame found it
    bit<19> threshold;
    bit<19> excess;    // by how much the depth is above it
    bit<1>  closes;    // the gate of the port that it leaves by
    bit<1>  opens;     // the gate of the port that it came in by
    bit<1>  held;      // dropped where the gate is closed
    bit<32> lease;     // of a closed gate
    bit<32> closed;    // when it was
    bit<32> opened;
}

// Explicit congestion notification, RFC 3168.
const bit<2> NOT_ECT = 0;
const bit<2> ECT_1 = 1;
const bit<2> ECT_0 = 2;
const bit<2> CE = 3;

#endif
