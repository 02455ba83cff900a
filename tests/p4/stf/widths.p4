// Fields without bits: they hold 0, take no place in a packet, and are keys, action data and arguments like others.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<0> before;
    bit<8> a;
    bit<4> high;
    bit<0> between;
    bit<4> low;
    bit<16> result;
    bit<0> behind;
}

struct headers_t {
    h_t h;
}

struct meta_t {
    bit<0> nothing;
}

bit<16> twice(in bit<16> x, in bit<0> none) {
    return x + x + (bit<16>) none;
}

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
    bit<0> local = 0;

    action set(bit<16> value) {
        hdr.h.result = value;
    }

    table t {
        key = {
            hdr.h.a: exact;
            hdr.h.between: exact;
        }
        actions = {
            set;
            NoAction;
        }
        const entries = {
            (1, 0): set(7);
            (2, 0): set(9);
        }
    }

    apply {
        std.egress_spec = 1;
        hdr.h.before = local;
        meta.nothing = hdr.h.before + hdr.h.between;
        if (meta.nothing == hdr.h.behind) {
            t.apply();
        }
        hdr.h.result = twice(hdr.h.result, meta.nothing) ++ hdr.h.between;
        hdr.h.behind = (bit<0>) hdr.h.a;
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
