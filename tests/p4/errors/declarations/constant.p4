control c(in bit<8> x) {
    apply {
        const bit<8> y = x;
    }
}
