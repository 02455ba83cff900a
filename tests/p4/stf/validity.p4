// Headers that are not valid: writes do no harm, setValid starts from zero, uninitialised values are zero.
#include "v1.p4"

header data_t { bit<8> op; bit<8> r; }
header extra_t { bit<8> x; bit<8> y; }
struct headers_t { data_t data; extra_t extra; extra_t other; }
struct metadata_t { bit<8> never; }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        bit<8> local = meta.never;
        hdr.data.r = local;
        hdr.extra.x = 0x99;
        if (hdr.data.op == 1) {
            hdr.extra.setValid();
            hdr.extra.y = 0x22;
        } else if (hdr.data.op == 2) {
            hdr.extra = { 0x33, 0x44 };
            hdr.extra.setValid();
            hdr.other = hdr.extra;
            hdr.extra.setInvalid();
        } else if (hdr.data.op == 3) {
            hdr.extra.setValid();
            hdr.extra = hdr.other;
        } else if (hdr.data.op == 4) {
            hdr.data.setInvalid();
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
