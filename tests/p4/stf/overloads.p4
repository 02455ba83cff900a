// Controls of one name, told apart by their constructors' parameters; generic blocks whose types follow from where they
// stand; lists as keys of select; objects without members.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

control Step(inout bit<8> x)(bit<8> plus) {
    apply {
        x = x + plus;
    }
}

control Step(inout bit<8> x)(bit<8> minus) {
    apply {
        x = x - minus;
    }
}

control Step(inout bit<8> x) {
    apply {
        x = ~x;
    }
}

control Sized<T>(inout bit<8> x)(T by) {
    apply {
        x = x + (bit<8>) by;
    }
}

control Nothing<H, M>(inout H hdr, inout M meta) {
    apply { }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.b) {
            { 1, 2 }: special;
            { 9, _ }: reject;
            default: accept;
        }
    }
    state special {
        hdr.h.c = 0;
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Step(plus = 3) up;
    Step(minus = 1) down;
    Step() flip;
    Sized(4w5) five;
    tuple<> none = {};
    apply {
        std.egress_spec = 1;
        up.apply(hdr.h.a);
        down.apply(hdr.h.b);
        flip.apply(hdr.h.c);
        if (none == {}) {
            five.apply(hdr.h.a);
        }
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

V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
