// Operators on bit<N> and int<N>: wrap-around, saturation, shifts, signs, comparisons, slices, casts.
#include "v1.p4"

header data_t {
    bit<8> op;
    bit<8> a;
    bit<8> b;
    bit<16> r;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        bit<8> a = hdr.data.a;
        bit<8> b = hdr.data.b;
        int<8> sa = (int<8>)a;
        int<8> sb = (int<8>)b;
        bit<16> r = 0;
        switch (hdr.data.op) {
            0: { r = (bit<16>)(a + b); }
            1: { r = (bit<16>)(a - b); }
            2: { r = (bit<16>)(a * b); }
            3: { r = (bit<16>)(a |+| b); }
            4: { r = (bit<16>)(a |-| b); }
            5: { r = (bit<16>)(bit<8>)(sa |+| sb); }
            6: { r = (bit<16>)(bit<8>)(sa |-| sb); }
            7: { r = (bit<16>)(a << b); }
            8: { r = (bit<16>)(a >> b); }
            9: { r = (bit<16>)(bit<8>)(sa >> b); }
            10: { r = a ++ b; }
            11: { r = (bit<16>)(a[6:3] ++ b[0:0] ++ 3w5); }
            12: { r = (bit<16>)((bit<1>)(a < b) ++ (bit<1>)(sa < sb) ++ (bit<1>)(a >= b) ++ (bit<1>)(sa >= sb)); }
            13: { r = (bit<16>)(int<16>)sa; }
            14: { r = (bit<16>)(~a & b | a ^ b); }
            15: { r = (bit<16>)(bit<8>)(-sa); }
            16: { r[11:4] = a; r[3:0] = b[7:4]; }
            17: { r = a == b ? 16w1 : (a > b && sa < sb ? 16w2 : 16w3); }
            default: { r = 0xFFFF; }
        }
        hdr.data.r = r;
        sm.egress_spec = 1;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
