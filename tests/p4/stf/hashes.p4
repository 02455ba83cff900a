// hash() with every algorithm that computes; base and max.
#include "v1.p4"

header data_t {
    bit<8> op;
    bit<16> a;
    bit<4> b;
    bit<4> c;
    bit<16> base;
    bit<32> max;
    bit<32> r;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        bit<32> r = 0;
        switch (hdr.data.op) {
            0: { hash(r, HashAlgorithm.crc32, hdr.data.base, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.max); }
            1: { hash(r, HashAlgorithm.crc16, hdr.data.base, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.max); }
            2: { hash(r, HashAlgorithm.csum16, hdr.data.base, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.max); }
            3: { hash(r, HashAlgorithm.xor16, hdr.data.base, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.max); }
            4: { hash(r, HashAlgorithm.identity, hdr.data.base, { hdr.data.a, hdr.data.b }, hdr.data.max); }
            5: { hash(r, HashAlgorithm.crc32_custom, hdr.data.base, { hdr.data.a }, hdr.data.max); }
            6: { hash(r, HashAlgorithm.crc16_custom, hdr.data.base, { hdr.data.a }, hdr.data.max); }
        }
        hdr.data.r = r;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
