const bit<8> a = 8w0b12;
