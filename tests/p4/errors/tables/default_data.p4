#include <core.p4>

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    action set(bit<8> v) { x = v; }
    table t {
        key = { x : exact; }
        actions = { set; }
        default_action = set();
    }
    apply {
        t.apply();
    }
}
