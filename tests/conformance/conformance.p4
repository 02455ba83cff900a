/* SPDX-License-Identifier: Apache-2.0 */
// Exercises what a control plane reaches: tables of each match kind, counters, a register, multicast,
// clones, packet-in and packet-out. For v1model; compiled by p4c for bmv2 and by ours.
#include <core.p4>
#include <v1model.p4>
const bit<9> CPU_PORT = 510;
const bit<16> TYPE_IPV4 = 0x0800;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<96> before;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct meta_t {
    bit<7> reason;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VerifyChecksumImpl(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) marked;
    direct_counter(CounterType.packets_and_bytes) routed;
    register<bit<32>>(16) arrivals;

    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action flood(bit<16> group) {
        std.mcast_grp = group;
    }
    action route_to(bit<9> port, bit<48> next_hop) {
        routed.count();
        std.egress_spec = port;
        hdr.ethernet.dst = next_hop;
    }
    action punt() {
        std.egress_spec = CPU_PORT;
    }
    action mirror() {
        clone(CloneType.I2E, 32w7);
    }
    action mark(bit<32> index) {
        marked.count(index);
    }

    table mac {
        key = { hdr.ethernet.dst : exact; }
        actions = { forward; flood; drop; }
        default_action = drop();
        size = 2048;
    }
    table routes {
        key = { hdr.ipv4.dst : lpm; }
        actions = { route_to; drop; NoAction; }
        default_action = NoAction();
        counters = routed;
    }
    table acl {
        key = {
            hdr.ethernet.src : ternary;
            hdr.ethernet.type : ternary;
        }
        actions = { drop; punt; mirror; mark; @defaultonly NoAction; }
        const default_action = NoAction();
    }
    table fixed {
        key = { hdr.ethernet.type : exact; }
        actions = { mark; NoAction; }
        const entries = {
            0x88b5 : mark(5);
            0x88b6 : mark(6);
        }
        default_action = NoAction();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            bit<32> count;
            arrivals.read(count, (bit<32>)std.ingress_port & 15);
            arrivals.write((bit<32>)std.ingress_port & 15, count + 1);
            mac.apply();
            fixed.apply();
            if (hdr.ipv4.isValid()) {
                routes.apply();
            }
            acl.apply();
        }
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            hdr.packet_in.reason = 3;
        }
        // Tells the copies of a multicast packet apart.
        if (std.egress_rid != 0) {
            hdr.ethernet.src = (bit<48>)std.egress_rid;
        }
    }
}

control ComputeChecksumImpl(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(ParserImpl(), VerifyChecksumImpl(), IngressImpl(), EgressImpl(), ComputeChecksumImpl(), DeparserImpl()) main;
