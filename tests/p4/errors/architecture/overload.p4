extern e {
    e();
    void f(in bit<8> a);
    void f(in bit<16> a);
}
