// Selects on lists, labels of serialisable enums, a struct declared by its typedef.
#include <core.p4>
#include <v1model.p4>

enum bit<8> kind_t { low = 1, middle = 5, high = 0xF0 }

typedef struct pair_s {
    bit<4> a;
    bit<4> b;
} pair_t;

header h_t {
    kind_t kind;
    bit<4> a;
    bit<4> b;
    bit<8> result;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        pair_t pair = { hdr.h.a, hdr.h.b };
        transition select((bit<8>) hdr.h.kind, { pair.a, pair.b }, { hdr.h.b, { hdr.h.a, hdr.h.b } }) {
            (kind_t.low, { 1, 2 }, default): first;
            (2 .. 5, { 15, 3 }, default): second;
            (0xF0 &&& 0xF0, default, { 4, { 5, 4 } }): third;
            default: accept;
        }
    }
    state first {
        hdr.h.result = 1;
        transition accept;
    }
    state second {
        hdr.h.result = 2;
        transition accept;
    }
    state third {
        hdr.h.result = 3;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
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
