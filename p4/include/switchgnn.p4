/* SPDX-License-Identifier: Apache-2.0 */
// Written by ci/formats: change it there.
#ifndef OFFRAMP_SWITCHGNN_P4
#define OFFRAMP_SWITCHGNN_P4
// The flags decide the type of a packet:
//   is_ack is_fetch resend
//     0       0       0     DATA (to the switch), RESULT and RAW (to a worker), PARTIAL (between switches, level 1):
//                           with payload
//     0       1       0     FETCH: src_id lacks dst_id; releases the aggregator of src_id (resend: 1 when repeated)
//     0       0       1     RESEND: the answer, src_id for dst_id alone; with payload
//     1       0       0     ACK: src_id is complete
//     1       1       0     DONE (to the switch), GO (to a worker)
// A payload has ``more`` segments of 32 lanes behind its first.
header switchgnn_t {
    bit<32> src_id;
    bit<32> dst_id;
    bit<16> block_id;
    bit<16> count;
    bit<1>  is_ack;
    bit<1>  is_fetch;
    bit<1>  ecn;
    bit<1>  resend;
    bit<2>  more;
    bit<2>  level;
    bit<8>  chunk_id;
    bit<16> round;
}

// A segment of a payload, 128 bytes: 32 lanes of int32, two's complement.
header payload_t {
    bit<32> lane0;
    bit<32> lane1;
    bit<32> lane2;
    bit<32> lane3;
    bit<32> lane4;
    bit<32> lane5;
    bit<32> lane6;
    bit<32> lane7;
    bit<32> lane8;
    bit<32> lane9;
    bit<32> lane10;
    bit<32> lane11;
    bit<32> lane12;
    bit<32> lane13;
    bit<32> lane14;
    bit<32> lane15;
    bit<32> lane16;
    bit<32> lane17;
    bit<32> lane18;
    bit<32> lane19;
    bit<32> lane20;
    bit<32> lane21;
    bit<32> lane22;
    bit<32> lane23;
    bit<32> lane24;
    bit<32> lane25;
    bit<32> lane26;
    bit<32> lane27;
    bit<32> lane28;
    bit<32> lane29;
    bit<32> lane30;
    bit<32> lane31;
}

// For experiments and testing, RFC 3692.
const bit<8> IP_PROTOCOL_SWITCHGNN = 253;
const bit<32> NO_ID = 0xFFFFFFFF;
// IP address of leaf 0 among several switches; leaf i has the i-th address after it.
const bit<32> LEAF_IP = 0x0A010000;
// Level of a packet that a leaf sends for its rack.
const bit<2> LEVEL_LEAF = 1;

#endif
