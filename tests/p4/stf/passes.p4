// resubmit, recirculate: what the next pass sees of packet and metadata.
#include "v1.p4"
#undef EGRESS
#define EGRESS TestEgress

header data_t {
    bit<8> op;
    bit<8> x;
    bit<8> kind;
    bit<8> passes;
    bit<8> lost;
    bit<8> length;
    bit<8> port;
}
header extra_t { bit<16> y; }
struct headers_t { extra_t extra; data_t data; }
struct metadata_t {
    @field_list(3) bit<8> passes;
    bit<8> lost;
}

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = (bit<9>)hdr.data.op;  // packets that pass once may overtake others
        hdr.data.x = hdr.data.x + 1;
        hdr.data.passes = meta.passes;
        hdr.data.lost = meta.lost;
        hdr.data.kind = (bit<8>)sm.instance_type;
        hdr.data.length = (bit<8>)sm.packet_length;
        hdr.data.port = (bit<8>)sm.ingress_port;
        meta.lost = 1;
        if (hdr.data.op == 1 && meta.passes < 3) {
            meta.passes = meta.passes + 1;
            resubmit_preserving_field_list(3);
            mark_to_drop(sm);
        }
    }
}
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.data.op == 2 && meta.passes < 3) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(3);
        } else if (hdr.data.op == 3) {
            hdr.data.op = 4;
            recirculate_preserving_field_list(3);
        } else if (hdr.data.op == 5) {
            // A drop beats a recirculation.
            recirculate_preserving_field_list(3);
            mark_to_drop(sm);
        }
    }
}
NO_COMPUTE
EMIT_ALL
MAIN
