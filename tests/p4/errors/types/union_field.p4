header_union u_t {
    bit<8> a;
}
