const bit<8> _ = 1;
