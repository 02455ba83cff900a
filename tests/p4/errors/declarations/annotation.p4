@tag[1] @tag[2]
const bit<8> a = 1;
