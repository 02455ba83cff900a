header h_t { bit<8> a; }

control c(inout h_t[3] s) {
    apply {
        s.next.a = 1;
    }
}
