void f(out bit<8> a = 1) {
    a = 2;
}
