/* SPDX-License-Identifier: Apache-2.0 */
// Written by ci/formats: change it there.
#ifndef OFFRAMP_ETHERNET_P4
#define OFFRAMP_ETHERNET_P4
header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

const bit<16> ETHER_TYPE_IPV4 = 0x0800;

#endif
