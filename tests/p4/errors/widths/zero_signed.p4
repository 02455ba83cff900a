const int<0> a = 0;
