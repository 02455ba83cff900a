// Copy-in and copy-out: aliased arguments, nested calls, functions, actions with directions, instances.
#include "v1.p4"

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY

// Both parameters are copies, so what one receives the other does not see; the last copied out stays.
bit<8> both(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 16;
    return x;
}

bit<8> twice(in bit<8> x) {
    return x + x;
}

void swap(inout bit<8> x, inout bit<8> y) {
    bit<8> keep = x;
    x = y;
    y = keep;
}

bit<4> next(inout bit<4> x) {
    x = x + 1;
    return x;
}

control Add(inout bit<8> x, in bit<8> y)(bit<8> more) {
    bit<8> calls = 0;
    apply {
        calls = calls + 1;
        x = x + y + more + calls;
    }
}

INGRESS {
    Add(1) one;
    Add(0x10) sixteen;
    action into(out bit<8> x, in bit<8> y) {
        x = y ^ 0xFF;
    }
    apply {
        bit<8> r = both(hdr.data.a, hdr.data.a);
        hdr.data.b = twice(twice(r) + twice(1));
        swap(hdr.data.c, hdr.data.d);
        into(hdr.data.c, hdr.data.c);
        one.apply(hdr.data.d, 2);
        one.apply(hdr.data.d, 2);
        sixteen.apply(hdr.data.d, hdr.data.d);
        hdr.data.a[3:0] = next(hdr.data.a[7:4]) + 1;  // the call changes other bits of what is assigned to
        sm.egress_spec = 1;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
