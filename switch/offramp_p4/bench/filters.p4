// SPDX-License-Identifier: Apache-2.0
// One table of five keys, looked up once for each packet.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<32> source;
    bit<32> destination;
    bit<16> source_port;
    bit<16> destination_port;
    bit<8> protocol;
}

struct headers {
    key_t keys;
}

struct metadata {}

parser FiltersParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.keys);
        transition accept;
    }
}

control FiltersVerify(inout headers hdr, inout metadata meta) {
    apply {}
}

control FiltersIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action to(bit<9> port) {
        standard.egress_spec = port;
    }
    action reject() {
        mark_to_drop(standard);
    }
    table filters {
        key = {
            hdr.keys.source: ternary;
            hdr.keys.destination: ternary;
            hdr.keys.source_port: PORTS;
            hdr.keys.destination_port: PORTS;
            hdr.keys.protocol: ternary;
        }
        actions = { to; reject; }
        default_action = reject;
        size = 1 << 20;
    }
    apply {
        filters.apply();
    }
}

control FiltersEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control FiltersCompute(inout headers hdr, inout metadata meta) {
    apply {}
}

control FiltersDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.keys);
    }
}

V1Switch(FiltersParser(), FiltersVerify(), FiltersIngress(), FiltersEgress(), FiltersCompute(), FiltersDeparser()) main;
