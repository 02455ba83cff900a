// return, exit and switch with fall-through; both return and exit copy out.
#include "v1.p4"

header data_t {
    bit<8> op;
    bit<8> n;
    bit<8> r;
    bit<8> s;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY

bit<8> early(in bit<8> x) {
    if (x > 3) {
        return 0xEE;
    }
    return x;
}

control Leave(inout bit<8> x) {
    apply {
        x = 0xA0;
        exit;
    }
}

control Return(inout bit<8> x) {
    apply {
        x = 0xB0;
        if (x == 0xB0) {
            return;
        }
        x = 0;
    }
}

INGRESS {
    Leave() leave;
    Return() back;
    action stop() {
        hdr.data.s = 0x55;
        exit;
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.data.op == 0) {
            back.apply(hdr.data.r);
            hdr.data.s = early(hdr.data.n);
        } else if (hdr.data.op == 1) {
            leave.apply(hdr.data.r);
            hdr.data.s = 1;
        } else if (hdr.data.op == 2) {
            stop();
            hdr.data.r = 1;
        } else {
            switch (hdr.data.n) {
                1:
                2: { hdr.data.r = 0x12; }
                3: { hdr.data.r = 0x33; }
                default: { hdr.data.r = 0xDD; }
            }
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
