#include <core.p4>

header h_t {
    bit<8> a;
    bit<16> b;
}

parser p(packet_in packet, out h_t h) {
    state start {
        transition select(h.a) {
            16w1: accept;
        }
    }
}
