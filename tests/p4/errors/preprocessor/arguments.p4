#define TWICE(x) x + x
const bit<8> a = TWICE(1, 2);
