/* SPDX-License-Identifier: Apache-2.0 */
// What conformance.p4 leaves out: idle time-outs, selectors, direct resources, translated values, digests.
#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("example.org/port", string)
type bit<9> sdn_port_t;
@p4runtime_translation("example.org/vrf", 32)
type bit<10> vrf_t;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

@controller_header("packet_in")
header packet_in_t {
    sdn_port_t port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    sdn_port_t port;
    bit<7> pad;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
}

struct meta_t {
    bit<2> colour;
    sdn_port_t port;
    vrf_t vrf;
}

struct learn_t {
    bit<48> address;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) tagged;

    state start {
        transition select(std.ingress_port) {
            510 : from_controller;
            default : ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            tagged : mark;
            default : accept;
        }
    }
    state mark {
        meta.colour = 3;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) flow_count;
    direct_counter(CounterType.packets) fixed_count;
    direct_meter<bit<2>>(MeterType.packets) flow_meter;
    meter(4, MeterType.packets) rates;
    counter(4, CounterType.packets) events;
    register<bit<16>>(4) store;
    @max_group_size(4)
    action_selector(HashAlgorithm.identity, 32w64, 32w8) ways;
    action_profile(8) hops;

    action drop() {
        mark_to_drop(std);
    }
    action to(bit<9> port) {
        std.egress_spec = port;
    }
    action to_named(sdn_port_t port) {
        std.egress_spec = (bit<9>)port;
    }
    action flood(bit<16> group) {
        std.mcast_grp = group;
    }
    action learn() {
        digest(1, (learn_t){hdr.ethernet.src});
    }
    action mirror() {
        clone(CloneType.I2E, 32w5);
    }

    action police() {
        flow_meter.read(meta.colour);
        if (meta.colour != 0) {
            mark_to_drop(std);
        }
    }

    table flows {
        key = { hdr.ethernet.dst : exact; }
        actions = { to; flood; learn; mirror; drop; NoAction; }
        default_action = NoAction();
        support_timeout = true;
        counters = flow_count;
        size = 128;
    }
    table policed {
        key = { hdr.ethernet.src : ternary; }
        actions = { police; drop; NoAction; }
        default_action = NoAction();
        meters = flow_meter;
    }
    table spread {
        key = {
            hdr.ethernet.type : exact;
            hdr.ethernet.src : selector;
        }
        actions = { to; NoAction; }
        implementation = ways;
    }
    table shared_hops {
        key = { hdr.ethernet.type : exact; }
        actions = { to; NoAction; }
        implementation = hops;
    }
    table named {
        key = {
            std.ingress_port : exact;
            meta.port : optional @name("port");
            meta.vrf : exact @name("vrf");
        }
        actions = { to_named; NoAction; }
    }
    table fixed {
        key = { hdr.ethernet.type : exact; }
        actions = { drop; NoAction; }
        const entries = {
            0x9999 : drop();
        }
        counters = fixed_count;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>)hdr.packet_out.port;
            hdr.packet_out.setInvalid();
        } else {
            flows.apply();
            policed.apply();
            spread.apply();
            shared_hops.apply();
            meta.port = (sdn_port_t)std.ingress_port;
            meta.vrf = (vrf_t)(bit<10>)std.ingress_port;
            named.apply();
            fixed.apply();
            if (meta.colour == 3) {
                events.count(3);
                store.write(3, hdr.ethernet.type);
                rates.execute_meter(3, meta.colour);
            }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == 510) {
            hdr.packet_in.setValid();
            hdr.packet_in.port = (sdn_port_t)std.ingress_port;
            hdr.packet_in.reason = 1;
        }
    }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
