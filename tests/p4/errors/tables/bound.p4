#include <core.p4>

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    action move(inout bit<8> to, bit<8> v) { to = v; }
    table t {
        actions = { move(x); }
        default_action = move(h.a, 1);
    }
    apply {
        t.apply();
    }
}
