// Loops over lists: the values are those before the loop, whatever its body changes; also of structs.
#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header h_t {
    bit<8> x;
    bit<8> y;
    bit<8> sum;
    bit<8> rounds;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

const list<bit<8>> WEIGHTS = (list<bit<8>>) { 1, 10, 100 };

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
    apply {
        std.egress_spec = 1;
        for (bit<8> v in (list<bit<8>>) { hdr.h.x, hdr.h.y, 3 }) {
            hdr.h.x = hdr.h.x + 1;
            hdr.h.y = 0;
            hdr.h.sum = hdr.h.sum + v;
        }
        for (pair_t p in (list<pair_t>) { { 1, 2 }, { hdr.h.x, 4 } }) {
            hdr.h.y = hdr.h.y + p.a + p.b;
        }
        for (bit<8> v in WEIGHTS) {
            if (v > hdr.h.y) {
                break;
            }
            hdr.h.rounds = hdr.h.rounds + 1;
        }
        for (bit<8> v in (list<bit<8>>) { }) {
            hdr.h.rounds = 99;
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

V1Switch(P(), V(), I(), E(), V(), D()) main;
