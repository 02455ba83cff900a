enum bit<8> kind_t { one = 1 }

header h_t {
    bit<8> a;
    bit<16> b;
}

control c(inout h_t h, inout bit<8> x) {
    apply {
        kind_t k = 1;
    }
}
