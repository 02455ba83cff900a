// Header unions: one header at a time, in parsers, assignments and isValid.
#include "v1.p4"
#undef PARSER
#define PARSER TestParser

header data_t { bit<8> kind; bit<8> op; bit<8> r; }
header narrow_t { bit<8> x; }
header wide_t { bit<16> x; }
header_union either_t { narrow_t narrow; wide_t wide; }
struct headers_t {
    data_t data;
    either_t either;
}
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.kind) {
            1: narrow;
            2: wide;
            default: accept;
        }
    }
    state narrow { packet.extract(hdr.either.narrow); transition accept; }
    state wide { packet.extract(hdr.either.wide); transition accept; }
}
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        if (hdr.either.isValid()) {
            hdr.data.r = 1;
        }
        if (hdr.data.op == 1) {
            hdr.either.wide.setValid();
            hdr.either.wide.x = 0x1234;
        } else if (hdr.data.op == 2) {
            hdr.either.narrow = { 0x77 };
        } else if (hdr.data.op == 3) {
            hdr.either.narrow.setInvalid();
            hdr.either.wide.setInvalid();
        }
        if (hdr.either.narrow.isValid()) {
            hdr.data.r = hdr.data.r + 2;
        }
        if (hdr.either.wide.isValid()) {
            hdr.data.r = hdr.data.r + 4;
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
