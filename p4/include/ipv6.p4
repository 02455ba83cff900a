/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_IPV6_P4
#define OFFRAMP_IPV6_P4
header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

const bit<16> ETHER_TYPE_IPV6 = 0x86DD;

#endif
