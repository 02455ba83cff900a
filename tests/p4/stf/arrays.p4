// Arrays of values, structs and arrays; in headers, metadata and parameters.
#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    int<8> b;
}

header h_t {
    bit<8> kind;
    bit<4>[3] nibbles;
    bit<4> rest;
    pair_t[2] pairs;
    bit<8> index;
}

struct headers_t {
    h_t h;
}

struct meta_t {
    bit<16>[4] words;
    bool[2] flags;
    bit<8>[2][3] grid;
}

bit<8> sum(in bit<4>[3] values) {
    bit<8> total = 0;
    for (bit<4> v in values) {
        total = total + (bit<8>) v;
    }
    return total;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.nibbles[0]) {
            15: accept;
            default: swap;
        }
    }
    state swap {
        pair_t first = hdr.h.pairs[0];
        hdr.h.pairs[0] = hdr.h.pairs[1];
        hdr.h.pairs[1] = first;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<8>[4] local;
    apply {
        std.egress_spec = 1;
        for (bit<8> i in 8w0 .. 3) {
            meta.words[i] = (bit<16>) i + 1;
            local[i] = i;
        }
        bit<4>[3] before = hdr.h.nibbles;
        hdr.h.nibbles = { before[2], before[1], before[0] };
        hdr.h.pairs[hdr.h.index].a = sum(before);
        hdr.h.pairs[hdr.h.index].b = -1;
        meta.flags[1] = before == hdr.h.nibbles;
        meta.grid[2][1] = 7;
        meta.grid[hdr.h.index] = { 1, 2 };
        hdr.h.kind = meta.flags[1] ? 8w0xAA : meta.grid[hdr.h.index][1] + meta.grid[2][1];
        hdr.h.rest = (bit<4>) meta.words[3] + (bit<4>) local[hdr.h.index];
        local[hdr.h.index] = 9;  // out of range: nothing is written
        hdr.h.index = local[2] + local[hdr.h.index];
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
