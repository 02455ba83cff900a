const bit<8> table = 1;
