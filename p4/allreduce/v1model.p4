/* SPDX-License-Identifier: Apache-2.0 */
// All-reduce in the switch for v1model: sums of chunks of any tensor, sent to every rank of the job.
#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "../include/bridge.p4"
#include "../include/checksum.p4"
#include "ingress.p4"

control NoChecksum(inout headers_t hdr, inout allreduce_metadata_t meta) {
    apply { }
}

control NoEgress(inout headers_t hdr, inout allreduce_metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control Checksum(inout headers_t hdr, inout allreduce_metadata_t meta) {
    apply {
        UPDATE_IPV4_CHECKSUM(hdr.allreduce.isValid())
    }
}

V1Switch(
    AllReduceParser(),
    NoChecksum(),
    AllReduceIngress(),
    NoEgress(),
    Checksum(),
    AllReduceDeparser()
) main;
