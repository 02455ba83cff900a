/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_HEADERS_P4
#define OFFRAMP_ALLREDUCE_HEADERS_P4
#include "types.p4"

// The headers of a program that carries all-reduce alone. The controls use any program's headers_t with these fields.
struct headers_t {
    ethernet_t                         ethernet;
    ipv4_t                             ipv4;
    allreduce_t                        allreduce;
    wide_segment_t[ALLREDUCE_SEGMENTS] segments;
}

#endif
