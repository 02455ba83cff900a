/* SPDX-License-Identifier: Apache-2.0 */
// Port 0 to port 1, 2 to 3, and back; type 0x88b5 from port 1 to the controller's port, 64, and 0x88b6 where it came from.
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

parser WireParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control WireIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) seen;

    action send(bit<9> port) {
        sm.egress_spec = port;
    }

    table ways {
        key = { sm.ingress_port: exact; }
        actions = { send; }
        const default_action = send(511);
        counters = seen;
        size = 16;
    }

    apply {
        if (hdr.ethernet.ether_type == 0x88b5 && sm.ingress_port == 1) {
            sm.egress_spec = 64;
        } else if (hdr.ethernet.ether_type == 0x88b6) {
            sm.egress_spec = sm.ingress_port;
        } else if (!ways.apply().hit) {
            sm.egress_spec = sm.ingress_port ^ 1;
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }

control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }

control WireDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(WireParser(), NoVerify(), WireIngress(), NoEgress(), NoUpdate(), WireDeparser()) main;
