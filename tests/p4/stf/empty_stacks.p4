// Stacks and arrays of size 0: nothing is in them, whatever the index.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    h_t h;
    h_t[0] none;
}

struct meta_t {
    bit<8>[0] words;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.b) {
            0xff: full;
            default: accept;
        }
    }
    state full {
        packet.extract(hdr.none.next);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        meta.words[hdr.h.a] = 7;
        meta.words[0] = 8;
        hdr.none[0] = hdr.h;
        std.egress_spec = std.egress_spec + (bit<9>) meta.words[0];
        hdr.none[hdr.h.a].setValid();
        hdr.h.b = meta.words[hdr.h.a] + (bit<8>) hdr.none.size;
        if (hdr.none[hdr.h.a].isValid()) {
            hdr.h.b = 1;
        }
        for (bit<8> w in meta.words) {
            hdr.h.b = 2;
        }
        if (std.parser_error == error.StackOutOfBounds) {
            hdr.h.b = 3;
        }
        hdr.none.push_front(1);
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
