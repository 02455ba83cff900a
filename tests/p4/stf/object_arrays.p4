// Arrays of extern objects: elements known when the program is loaded, and those that the packet chooses.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t {
    bit<8> bank;
    bit<8> slot;
    bit<16> value;
    bit<16> sum;
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
    register<bit<16>, bit<8>>(4) banks[3];
    counter<bit<8>>(4, CounterType.packets) counts[3];
    Checksum16() sums[2];

    action add(bit<8> bank) {
        bit<16> old = 0;
        banks[bank].read(old, hdr.h.slot);
        banks[bank].write(hdr.h.slot, old + hdr.h.value);
        counts[bank].count(hdr.h.slot);
    }

    apply {
        std.egress_spec = 1;
        add(hdr.h.bank);
        banks[1].read(hdr.h.sum, hdr.h.slot);
        bit<16> same = sums[hdr.h.bank].get({ hdr.h.value });
        hdr.h.value = same == sums[0].get({ hdr.h.value }) ? 16w1 : same;
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
