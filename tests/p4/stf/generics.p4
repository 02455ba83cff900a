// Generic structs and functions, tuples, struct expressions, structs in headers, static_assert, joined strings.
#include <core.p4>
#include <v1model.p4>

struct pair_t<A, B> {
    A first;
    B second;
}

struct half_t {
    bit<4> high;
    bit<4> low;
}

header h_t {
    bit<8> kind;
    half_t half;
    bit<16> word;
}

struct headers_t {
    h_t h;
}

struct meta_t {
    pair_t<bit<8>, bit<16>> pair;
    tuple<bit<8>, bool> couple;
}

const bool checked = static_assert(h_t.minSizeInBits() == 32, "h_t has " ++ "32 bits");

T pick<T>(in bool which, in T one, in T other) {
    if (which) {
        return one;
    }
    return other;
}

void swap<T>(inout T one, inout T other) {
    T kept = one;
    one = other;
    other = kept;
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
    @name("set" ++ "_half")
    action set(half_t value) {
        hdr.h.half = value;
    }
    apply {
        std.egress_spec = 1;
        meta.pair = { second = hdr.h.word, first = hdr.h.kind };
        swap(hdr.h.half.high, hdr.h.half.low);
        meta.couple = { pick(hdr.h.kind == 1, 8w0x11, 8w0x22), hdr.h.word == 7 };
        tuple<bit<8>, tuple<bit<16>, bit<4>>> nested = { 1, { meta.pair.second, hdr.h.half.low } };
        if (meta.couple[1]) {
            set({ 4w9, nested[1][1] });
        }
        half_t other = { 0xA, ... };
        half_t copy = pick(meta.couple[1], hdr.h.half, other);
        hdr.h.half = copy;
        hdr.h.kind = meta.couple[0];
        hdr.h.word = nested[1][0] |-| 16w0x10;
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
