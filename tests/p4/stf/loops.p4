// for loops: with a condition, over a range, nested, with break and continue.
#include "v1.p4"

header data_t {
    bit<8> low;
    bit<8> high;
    bit<8> sum;
    bit<8> skipped;
    bit<8> counted;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        for (bit<8> i in hdr.data.low .. hdr.data.high) {
            if (i == 4) {
                hdr.data.skipped = hdr.data.skipped + 1;
                continue;
            }
            if (i == 9) {
                break;
            }
            for (bit<8> j in 1 .. 2) {
                hdr.data.sum = hdr.data.sum + i * j;
            }
        }
        for (bit<8> k = 0; k < hdr.data.low; k = k + 1) {
            if (k == 2) {
                continue;
            }
            if (k == 5) {
                break;
            }
            hdr.data.counted = hdr.data.counted + k;
        }
        sm.egress_spec = 1;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
