// Copy-in and copy-out: slices and indexed elements as arguments, one place given twice, order of evaluation, exit.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> op;
    bit<8> a;
    bit<8> b;
}

header item_t {
    bit<8> v;
}

struct headers_t {
    h_t h;
    item_t[3] items;
}

struct meta_t {
    bit<8> at;
}

bit<8> bump(inout bit<8> x) {
    x = x + 1;
    return x;
}

void halves(out bit<4> high, out bit<4> low) {
    high = 0xA;
    low = 0x5;
}

void twice(inout bit<8> one, inout bit<8> other) {
    one = one + 1;
    other = other + 16;
}

void unset(out bit<8> value, in bool write) {
    value = 0;
    if (write) {
        value = 0x77;
    }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action leave(inout bit<8> value) {
        value = 0xEE;
        exit;
    }
    apply {
        std.egress_spec = 1;
        meta.at = 0;
        switch (hdr.h.op) {
            1: { halves(hdr.h.a[7:4], hdr.h.b[3:0]); }
            2: { twice(hdr.h.a, hdr.h.a); }
            3: { hdr.h.a = bump(hdr.h.b) + bump(hdr.h.b) * 16; }
            4: { unset(hdr.h.a, false); unset(hdr.h.b, true); }
            5: { leave(hdr.h.a); hdr.h.b = 0; }
            6: { twice(hdr.items[1].v, hdr.items[2].v); hdr.items[1].v[7:7] = 1; }
            7: { bool both = bump(hdr.h.a) == 0 && bump(hdr.h.b) == 1; hdr.h.op = both ? 8w0xBB : 0xCC; }
            8: { hdr.h.a |+|= 0xF0; hdr.h.b |-|= 0xF0; }
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
