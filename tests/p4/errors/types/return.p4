bit<8> f(in bit<8> a) {
    if (a == 0) {
        return 1;
    }
}
