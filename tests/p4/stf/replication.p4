// Where a packet goes at the end of ingress and egress: multicast, drop and their order; lengths; truncate.
#include "v1.p4"
#undef EGRESS
#define EGRESS TestEgress

header data_t {
    bit<8> op;
    bit<8> kind;
    bit<16> rid;
    bit<8> port;
    bit<8> length;
}
header extra_t { bit<32> y; }
struct headers_t { extra_t extra; data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        if (hdr.data.op == 0) {
            sm.mcast_grp = 1;
            sm.egress_spec = 5;
        } else if (hdr.data.op == 1) {
            sm.mcast_grp = 1;
            mark_to_drop(sm);
        } else if (hdr.data.op == 2) {
            mark_to_drop(sm);
            sm.mcast_grp = 1;
        } else if (hdr.data.op == 3) {
            mark_to_drop(sm);
            sm.egress_spec = 5;
        } else if (hdr.data.op == 4) {
            sm.mcast_grp = 77;
        } else if (hdr.data.op == 5) {
            sm.egress_spec = 5;
            hdr.extra.setValid();
            hdr.extra.y = 0x11223344;
            truncate(7);
        } else if (hdr.data.op == 6) {
            sm.egress_spec = 5;
            hdr.data.setInvalid();
        } else {
            // Nothing is set: port 0.
        }
    }
}
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.kind = (bit<8>)sm.instance_type;
        hdr.data.rid = sm.egress_rid;
        hdr.data.port = (bit<8>)sm.egress_port;
        hdr.data.length = (bit<8>)sm.packet_length;
        if (sm.egress_port == 3) {
            mark_to_drop(sm);
        } else {
            // A port cannot be chosen any more.
            sm.egress_spec = 6;
        }
    }
}
NO_COMPUTE
EMIT_ALL
MAIN
