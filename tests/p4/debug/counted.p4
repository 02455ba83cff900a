// SPDX-License-Identifier: Apache-2.0
// A program to be debugged: states, a stack, a union, tables, actions, a register, metadata, a drop and an error.
#include <core.p4>
#include <v1model.p4>

const bit<16> TAGGED = 0x8100;
enum bit<8> Kind { plain = 1, tagged = 2 }

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header tag_t { bit<16> id; bit<16> type; }
header small_t { bit<8> value; }
header large_t { bit<16> value; }
header_union either_t { small_t small; large_t large; }
struct headers_t { ethernet_t ethernet; tag_t[3] tags; either_t either; }
struct metadata_t { bit<32> seen; int<8> level; bool known; Kind kind; tuple<bit<4>, bit<4>> pair; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TAGGED: tag;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.tags.next);
        transition select(hdr.tags.last.type) {
            TAGGED: tag;
            default: accept;
        }
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(5000) counts;
    counter(16, CounterType.packets_and_bytes) arrived;
    bit<32> now = 0;
    action forward(bit<9> port) {
        sm.egress_spec = port;
        meta.known = true;
    }
    action drop() { mark_to_drop(sm); }
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
    }
    apply {
        arrived.count((bit<32>)sm.ingress_port);
        counts.read(now, 7);
        now = now + 1;
        counts.write(7, now);
        meta.seen = now;
        meta.level = -2;
        if (hdr.tags[0].isValid()) {
            meta.kind = Kind.tagged;
        } else if (now == 2) {
            meta.kind = Kind.plain;
        }
        hosts.apply();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (meta.known) {
            hdr.either.small.setValid();
            hdr.either.small.value = (bit<8>)meta.seen;
        }
    }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
