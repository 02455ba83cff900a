#include <core.p4>

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    action set(bit<8> v) { x = v; }
    table t {
        actions = { set; }
        default_action = set(0);
    }
    apply {
        switch (t.apply().action_run) {
            set: { }
            set: { }
        }
    }
}
