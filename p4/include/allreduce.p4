/* SPDX-License-Identifier: Apache-2.0 */
// Written by ci/formats: change it there.
#ifndef OFFRAMP_ALLREDUCE_P4
#define OFFRAMP_ALLREDUCE_P4
// Kinds of packets, all of a chunk in a slot of a job:
//   0 DATA    a contribution, with segments: of a rank, or of a leaf for its rack
//   1 AGAIN   the same, repeated: a complete sum is sent again, an incomplete one is asked for by PULL
//   2 RESULT  the sum, with segments; exponent and flags are the greatest, and all, of the contributions'
//   3 PULL    without segments: contributions of the ranks that are not in present are missing
header allreduce_t {
    bit<32> job;
    bit<32> chunk;
    bit<32> present;
    bit<8>  page;
    bit<8>  line;
    bit<16> exponent;
    bit<8>  rank;
    bit<8>  kind;
    bit<8>  flags;
    bit<8>  reserved;
}

// 256 bytes of a chunk: 64 lanes of int32, two's complement.
header segment_t {
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
    bit<32> lane32;
    bit<32> lane33;
    bit<32> lane34;
    bit<32> lane35;
    bit<32> lane36;
    bit<32> lane37;
    bit<32> lane38;
    bit<32> lane39;
    bit<32> lane40;
    bit<32> lane41;
    bit<32> lane42;
    bit<32> lane43;
    bit<32> lane44;
    bit<32> lane45;
    bit<32> lane46;
    bit<32> lane47;
    bit<32> lane48;
    bit<32> lane49;
    bit<32> lane50;
    bit<32> lane51;
    bit<32> lane52;
    bit<32> lane53;
    bit<32> lane54;
    bit<32> lane55;
    bit<32> lane56;
    bit<32> lane57;
    bit<32> lane58;
    bit<32> lane59;
    bit<32> lane60;
    bit<32> lane61;
    bit<32> lane62;
    bit<32> lane63;
}

// For experiments and testing, RFC 3692.
const bit<8> IP_PROTOCOL_ALLREDUCE = 254;
// The rank of what comes from a switch above.
const bit<8> SWITCH_RANK = 255;
const bit<8> KIND_DATA = 0;
const bit<8> KIND_AGAIN = 1;
const bit<8> KIND_RESULT = 2;
const bit<8> KIND_PULL = 3;

#endif
