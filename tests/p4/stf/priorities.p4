// Priorities of entries in the source: written, following from priority_delta, and the smallest winning.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> key;
    bit<8> largest;
    bit<8> smallest;
    bit<8> order;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action largest(bit<8> v) { hdr.h.largest = v; }
    action smallest(bit<8> v) { hdr.h.smallest = v; }
    action order(bit<8> v) { hdr.h.order = v; }
    table by_largest {
        key = { hdr.h.key : ternary; }
        actions = { largest; NoAction; }
        default_action = NoAction;
        priority_delta = 10;
        entries = {
            priority = 100 : 0x10 &&& 0xF0 : largest(1);
            0x11 : largest(2);
            priority = 95 : 0x12 : largest(3);
            const priority = 200 : 0x13 : largest(4);
            0x10 &&& 0xFC : largest(5);
        }
    }
    table by_smallest {
        key = { hdr.h.key : range; }
        actions = { smallest; NoAction; }
        default_action = NoAction;
        largest_priority_wins = false;
        priority_delta = 2;
        entries = {
            priority = 10 : 0x10 .. 0x1F : smallest(1);
            0x11 .. 0x12 : smallest(2);
            priority = 9 : 0x12 .. 0x13 : smallest(3);
            0x10 .. 0x12 : smallest(4);
        }
    }
    table by_order {
        key = { hdr.h.key : ternary; }
        actions = { order; NoAction; }
        default_action = NoAction;
        const entries = {
            0x11 : order(1);
            0x10 &&& 0xF0 : order(2);
            _ : order(3);
        }
    }
    apply {
        std.egress_spec = 1;
        by_largest.apply();
        by_smallest.apply();
        by_order.apply();
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
