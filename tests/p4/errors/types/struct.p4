struct pair { bit<8> a; bit<8> b; }

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    apply {
        pair p = { a = 1, c = 2 };
    }
}
