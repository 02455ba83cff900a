/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_JOB_HEADERS_P4
#define OFFRAMP_JOB_HEADERS_P4
#include "../switchgnn/types.p4"
#include "../allreduce/types.p4"
#include "../hermod/types.p4"

struct headers_t {
    ethernet_t                         ethernet;
    ipv4_t                             ipv4;
    ipv6_t                             ipv6;
    switchgnn_t                        switchgnn;
    EACH_PAYLOAD(PAYLOAD_FIELD)
    allreduce_t                        allreduce;
    wide_segment_t[ALLREDUCE_SEGMENTS] segments;
}

struct metadata_t {
    switchgnn_metadata_t switchgnn;
    allreduce_metadata_t allreduce;
    hermod_metadata_t    hermod;
}

#endif
