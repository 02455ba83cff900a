header h_t { bit<8> a; }

control c(inout h_t[3] s) {
    apply {
        s[3].a = 1;
    }
}
