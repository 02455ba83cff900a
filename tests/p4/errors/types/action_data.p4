control c(inout bit<8> x) {
    action set(bit<8> value) {
        value = value + 1;
        x = value;
    }
    apply {
        set(1);
    }
}
