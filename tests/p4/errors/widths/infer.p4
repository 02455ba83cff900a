#include <core.p4>

header h_t {
    bit<8> a;
    bit<16> b;
}

extern void verify_width<T>(in T value);

control c(inout h_t h, inout bit<8> x) {
    apply {
        verify_width(5);
    }
}
