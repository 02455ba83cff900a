bit<8> f(in bit<8> a, in bit<8> a) {
    return a;
}
