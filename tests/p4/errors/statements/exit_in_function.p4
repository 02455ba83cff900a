action set(bit<8> v) {
    exit;
}

bit<8> f(in bit<8> x) {
    if (x == 0) {
        exit;
    }
    return x;
}
