/* SPDX-License-Identifier: Apache-2.0 */
// Tells the controller of every source address, once.
#include <core.p4>
#include <v1model.p4>
header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t { }

struct learn_t {
    bit<48> address;
    bit<9> port;
    bit<1> tagged;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control VerifyChecksumImpl(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        digest<learn_t>(1, { hdr.ethernet.src, std.ingress_port, (bit<1>)(hdr.ethernet.type == 0x88aa) });
        mark_to_drop(std);
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control ComputeChecksumImpl(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ParserImpl(), VerifyChecksumImpl(), IngressImpl(), EgressImpl(), ComputeChecksumImpl(), DeparserImpl()) main;
