struct s { bit<8> a; }

type s t;
