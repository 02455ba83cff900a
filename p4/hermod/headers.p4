/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_HEADERS_P4
#define OFFRAMP_HERMOD_HEADERS_P4
#include "types.p4"

// The headers of a program that carries Hermod alone. The controls use any program's headers_t with these fields.
struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
}

#endif
