/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_CHECKSUM_P4
#define OFFRAMP_CHECKSUM_P4

// The checksum of an IPv4 header without options, where the condition holds; any other packet leaves with the one that it
// came with. A macro, since v1model's checksum controls hold nothing but these calls.
#define UPDATE_IPV4_CHECKSUM(condition) \
    update_checksum( \
        condition, \
        { \
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, \
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr \
        }, \
        hdr.ipv4.header_checksum, \
        HashAlgorithm.csum16);

#endif
