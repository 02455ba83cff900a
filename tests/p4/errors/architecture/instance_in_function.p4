extern counter {
    counter(bit<32> size);
}

void f() {
    counter(16) c;
}
