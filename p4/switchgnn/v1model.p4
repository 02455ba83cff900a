/* SPDX-License-Identifier: Apache-2.0 */
// SwitchGNN (Li et al., USENIX ATC 2025) for v1model: in-network multicast and aggregation of GNN features.
// Each pass of a packet accesses each register at most once.
#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "../include/bridge.p4"
#include "ingress.p4"
#include "again.p4"

control NoChecksum(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    apply { }
}

V1Switch(
    SwitchGnnParser(),
    NoChecksum(),
    SwitchGnnIngress(),
    Again(),
    ReplyChecksum(),
    SwitchGnnDeparser()
) main;
