#if defined(X)
const bit<8> a = 1;
