// Enums, serialisable enums, errors and bools as values; structs, tuples and headers assigned and compared.
#include "v1.p4"

enum Colour { RED, GREEN, BLUE }
enum bit<8> Kind { ONE = 1, TWO = 2, SEVEN = 7 }
type bit<8> Small;

header data_t {
    Kind kind;
    Small small;
    int<8> number;
    bit<8> r;
}
struct pair_t { bit<8> x; bit<8> y; }
struct nested_t { pair_t one; pair_t two; bool flag; }
struct headers_t { data_t data; data_t copy; }
struct metadata_t { Colour colour; nested_t nested; }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        switch (hdr.data.kind) {
            Kind.ONE: { meta.colour = Colour.GREEN; }
            Kind.TWO: { meta.colour = Colour.BLUE; }
            default: { meta.colour = Colour.RED; }
        }
        pair_t p = { 1, (bit<8>)hdr.data.small };
        meta.nested = { p, { y = 2, x = 1 }, hdr.data.number < 0 };
        bit<8> r = 0;
        if (meta.colour == Colour.BLUE) { r = r | 1; }
        if (meta.nested.one == meta.nested.two) { r = r | 2; }
        if (meta.nested.flag) { r = r | 4; }
        if (hdr.data.kind == Kind.SEVEN) { r = r | 8; }
        if ((bit<8>)hdr.data.kind > 2) { r = r | 16; }
        hdr.copy = hdr.data;
        if (hdr.copy == hdr.data) { r = r | 32; }
        hdr.copy.number = hdr.copy.number - 100;
        if (hdr.copy == hdr.data) { r = r | 64; }
        hdr.copy.setInvalid();
        if (hdr.copy.isValid()) { r = r | 128; }
        hdr.data.r = r;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
