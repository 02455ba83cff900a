// Action data of struct, header and array types: entries supply their scalars, the program calls with whole values.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> kind;
    bit<8> a;
    bit<8> b;
}

struct inner_t {
    bit<8> x;
    bool negative;
}

struct route_t {
    bit<8> port;
    inner_t inner;
    bit<8>[2] list;
}

struct headers_t {
    h_t h;
    h_t extra;
}

struct meta_t {
    bit<8> hits;
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
    action go(inout bit<8> count, route_t r, h_t extra) {
        std.egress_spec = (bit<9>) r.port;
        hdr.h.a = r.inner.negative ? -r.inner.x : r.inner.x;
        hdr.h.b = r.list[0] + r.list[1];
        hdr.extra = extra;
        count = count + 1;
    }

    table t {
        key = { hdr.h.kind: exact; }
        actions = { go(meta.hits); NoAction; }
        entries = {
            1: go({ 2, { 3, true }, { 4, 5 } }, { 6, 7, 8 });
            2: go({ port = 3, inner = { negative = false, x = 9 }, list = { 1, 1 } }, (h_t) {#});
        }
        default_action = go({ 1, { 0, false }, { 0, 0 } }, { 1, 1, 1 });
    }

    apply {
        switch (t.apply().action_run) {
            go: { hdr.h.kind = meta.hits; }
        }
        if (hdr.h.kind == 0) {
            go(meta.hits, { 5, { 1, false }, { 1, 2 } }, hdr.h);
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
