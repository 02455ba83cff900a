/* SPDX-License-Identifier: Apache-2.0 */
// The smallest useful switch: every frame goes back where it came from, with its addresses swapped.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

parser ReflectorParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Reflect(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        bit<48> address = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = address;
        std.egress_spec = std.ingress_port;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ReflectorDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(ReflectorParser(), Verify(), Reflect(), Nothing(), Compute(), ReflectorDeparser()) main;
