#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<32> a;
    bit<32> b;
    bit<32> c;
}

struct headers {
    h_t h;
}

struct meta {}

parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.h);
        transition accept;
    }
}

control unchecked(inout headers h, inout meta m) {
    apply {}
}

control ingress(inout headers h, inout meta m, inout standard_metadata_t s) {
    table t {
        key = { h.h.a : lpm; h.h.c : ternary; h.h.b : lpm; }
        actions = { NoAction; }
    }
    apply {
        t.apply();
    }
}

control egress(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {}
}

control deparser(packet_out b, in headers h) {
    apply {
        b.emit(h.h);
    }
}

V1Switch(p(), unchecked(), ingress(), egress(), unchecked(), deparser()) main;
