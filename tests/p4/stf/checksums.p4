// verify_checksum and update_checksum, with and without payload, and every field in a valid header only.
#include "v1.p4"
#undef VERIFY
#undef COMPUTE
#define VERIFY TestVerify
#define COMPUTE TestCompute
#undef PARSER
#define PARSER TestParser

header data_t {
    bit<4> high;
    bit<4> low;
    bit<8> x;
    bit<16> y;
    bit<16> sum;
    bit<8> wrong;
    bit<8> op;
}
header more_t { bit<16> z; bit<16> sum; }
struct headers_t { data_t data; more_t more; }
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            1: more;
            default: accept;
        }
    }
    state more { packet.extract(hdr.more); transition accept; }
}
control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(true, { hdr.data.high, hdr.data.low, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.more.isValid(), { hdr.more.z }, hdr.more.sum, HashAlgorithm.csum16);
    }
}
INGRESS {
    apply {
        sm.egress_spec = 1;
        hdr.data.wrong = (bit<8>)sm.checksum_error;
        hdr.data.x = hdr.data.x + 1;
    }
}
NO_EGRESS
control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(true, { hdr.data.high, hdr.data.low, hdr.data.x, hdr.data.y, hdr.more.z }, hdr.data.sum,
            HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.more.isValid(), { hdr.more.z }, hdr.more.sum, HashAlgorithm.csum16);
    }
}
EMIT_ALL
MAIN
