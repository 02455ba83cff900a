/* SPDX-License-Identifier: Apache-2.0 */
// Frames leave by the port that a table has for their destination; every port counts what it was sent.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> kind;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Steer(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets_and_bytes) sent;

    action drop() { mark_to_drop(std); }

    action leave_by(bit<9> port) {
        std.egress_spec = port;
        sent.count((bit<32>) port);
    }

    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { leave_by; drop; }
        default_action = drop();
    }

    apply { hosts.apply(); }
}

control Nothing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }

control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(Parse(), Verify(), Steer(), Nothing(), Compute(), Deparse()) main;
