control c(inout bit<8> x) {
    apply {
        bit<8> i = 0;
        for (i in 1 .. 6) {
            x = x + i;
        }
    }
}
