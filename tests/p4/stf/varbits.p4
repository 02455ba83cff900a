// Headers of variable size: extract with a size, copies, emit, and the errors of a size that does not fit.
#include "v1.p4"
#undef PARSER
#define PARSER TestParser

header data_t { bit<8> bytes; bit<8> op; bit<8> fault; }
header options_t { bit<8> before; varbit<32> options; bit<8> after; }
struct headers_t {
    data_t data;
    options_t first;
    options_t second;
}
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.first, (bit<32>)hdr.data.bytes << 3);
        transition accept;
    }
}
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        if (sm.parser_error == error.HeaderTooShort) {
            hdr.data.fault = 1;
        } else if (sm.parser_error == error.PacketTooShort) {
            hdr.data.fault = 2;
        } else if (hdr.data.op == 1) {
            hdr.second = hdr.first;
            hdr.second.after = 0xEE;
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
