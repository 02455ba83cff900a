/* SPDX-License-Identifier: Apache-2.0 */
// Written by ci/formats: change it there.
#ifndef OFFRAMP_IPV4_P4
#define OFFRAMP_IPV4_P4
header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> header_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

#endif
