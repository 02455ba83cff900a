/* SPDX-License-Identifier: Apache-2.0 */
// Sends everything to port 2 and stamps it with its version, once in ingress and once in egress.
#include <core.p4>
#include <v1model.p4>
#define VERSION 1
header stamped_t {
    bit<32> number;
    bit<16> ingress;
    bit<16> egress;
}

struct headers_t {
    stamped_t stamped;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.stamped);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.stamped.ingress = VERSION;
        std.egress_spec = 2;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.stamped.egress = VERSION;
    }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.stamped);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
