// What the tests of this folder share: the blocks of V1Switch that a test does not define itself.
#include <core.p4>
#include <v1model.p4>

#define NO_VERIFY control VerifyNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }
#define NO_COMPUTE control ComputeNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }
#define NO_EGRESS \
    control PassEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
#define EMIT_ALL control EmitAll(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

// A parser that extracts one header.
#define PARSE_ONE(FIELD) \
    parser ParseOne(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { \
        state start { packet.extract(hdr.FIELD); transition accept; } \
    }

#define INGRESS control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm)
// The package: a test redefines the name of the block that it has of its own.
#define PARSER ParseOne
#define VERIFY VerifyNothing
#define EGRESS PassEgress
#define COMPUTE ComputeNothing
#define DEPARSER EmitAll
#define MAIN V1Switch(PARSER(), VERIFY(), TestIngress(), EGRESS(), COMPUTE(), DEPARSER()) main;
