type bit<9> port_t;

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    apply {
        port_t p = (port_t) 1; h.b = (bit<16>) p;
    }
}
