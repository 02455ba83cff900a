// Clones from ingress (the packet as received, parsed again) and from egress (as egress left it), with field lists.
#include "v1.p4"
#undef EGRESS
#define EGRESS TestEgress

header data_t {
    bit<8> op;
    bit<8> x;
    bit<8> kind;   // instance_type + 0x10 * parsed again
    bit<8> kept;
    bit<8> lost;
    bit<16> rid;
}
struct headers_t { data_t data; }
struct metadata_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
    @field_list(2, 1) bit<8> both;
}

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        hdr.data.x = hdr.data.x + 1;
        meta.kept = 1;
        meta.lost = 1;
        if (hdr.data.op == 1) {
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (hdr.data.op == 2) {
            clone(CloneType.I2E, 5);
            mark_to_drop(sm);
        } else if (hdr.data.op == 3) {
            clone_preserving_field_list(CloneType.I2E, 6, 2);
        } else if (hdr.data.op == 5) {
            // The last one counts, and session 7 does not exist.
            clone(CloneType.I2E, 5);
            clone(CloneType.I2E, 7);
        }
        meta.kept = 2;
        meta.both = 8;
    }
}
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.kind = (bit<8>)sm.instance_type;
        hdr.data.kept = meta.kept + meta.both;
        hdr.data.lost = meta.lost;
        hdr.data.rid = sm.egress_rid;
        if (hdr.data.op == 4 && sm.instance_type == 0) {
            hdr.data.x = hdr.data.x + 0x10;
            meta.kept = 4;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
        }
        hdr.data.x = hdr.data.x + 0x20;
    }
}
NO_COMPUTE
EMIT_ALL
MAIN
