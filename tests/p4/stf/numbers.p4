// Parameters of type int: numbers without a width, known where the block is applied.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<8> c; }
struct headers { h_t h; }
struct meta { }
control Add(int by, inout bit<8> x) { apply { if (x == by) { x = x + by; } else { x = 1 + by; } } }
parser Skip(int bits, packet_in p) { state start { p.advance(bits); transition accept; } }
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t s) {
    Skip() skip;
    state start { skip.apply(8, p); p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply { } }
control I(inout headers hdr, inout meta m, inout standard_metadata_t s) {
    Add() add;
    apply { s.egress_spec = 1; add.apply(3, hdr.h.a); add.apply(x = hdr.h.b, by = 5); Add.apply(7, hdr.h.c); }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
