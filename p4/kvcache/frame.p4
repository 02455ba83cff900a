/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_KVCACHE_FRAME_P4
#define OFFRAMP_KVCACHE_FRAME_P4
#include "../include/ethernet.p4"

// Local experimental, IEEE 802.
const bit<16> ETHER_TYPE_KVCACHE = 0x88B5;

// Kinds of packets:
//   0 GET    a client asks the store's host for the value of a key
//   1 PUT    it writes one
//   2 REPLY  the answer to either: the key's value now and its version, which counts the writes of the key from 1; 0: no such key
const bit<8> KIND_GET = 0;
const bit<8> KIND_PUT = 1;
const bit<8> KIND_REPLY = 2;

header kvcache_t {
    bit<8>  kind;
    bit<8>  hops;  // 1: the switch has answered
    bit<16> client;
    bit<32> request;
    bit<64> key;
    bit<32> version;
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
}

struct headers_t {
    ethernet_t ethernet;
    kvcache_t  kvcache;
}

// Keys that the switch holds; may be set with -D.
#ifndef SLOTS
#define SLOTS 256
#endif

#ifndef HOSTS
#define HOSTS 1024
#endif

// OP(register, field of the header) for the version of what is held and for each word of its value.
#define EACH_LANE(OP) \
    OP(stamp, version) \
    OP(value0, lane0) OP(value1, lane1) OP(value2, lane2) OP(value3, lane3) \
    OP(value4, lane4) OP(value5, lane5) OP(value6, lane6) OP(value7, lane7) \
    OP(value8, lane8) OP(value9, lane9) OP(value10, lane10) OP(value11, lane11) \
    OP(value12, lane12) OP(value13, lane13) OP(value14, lane14) OP(value15, lane15)

#endif
