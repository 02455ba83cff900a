// A select that no case matches rejects with error.NoMatch; v1model hands the packet on (bmv2 sets no error).
#include "v1.p4"
#undef PARSER
#define PARSER TestParser

header kind_t { bit<8> kind; bit<8> fault; }
struct headers_t { kind_t kind; }
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: accept;
            2: reject;
        }
    }
}
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        if (sm.parser_error == error.NoMatch) {
            hdr.kind.fault = 1;
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
