// Header stacks: next and last in a parser, overflow, run-time indices, push_front and pop_front, equality.
#include "v1.p4"
#undef PARSER
#define PARSER TestParser

header data_t { bit<8> op; bit<8> index; bit<8> fault; bit<8> r; }
header label_t { bit<7> value; bit<1> bottom; }
struct headers_t {
    data_t data;
    label_t[4] labels;
}
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition labels;
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) {
            0: labels;
            1: accept;
        }
    }
}
NO_VERIFY
INGRESS {
    apply {
        sm.egress_spec = 1;
        if (sm.parser_error == error.StackOutOfBounds) {
            hdr.data.fault = 1;
        }
        if (hdr.data.op == 0) {
            hdr.labels.push_front(1);
            hdr.labels[0].setValid();
            hdr.labels[0].value = 0x7F;
        } else if (hdr.data.op == 1) {
            hdr.labels.pop_front(2);
        } else if (hdr.data.op == 2) {
            hdr.data.r = (bit<8>)hdr.labels[hdr.data.index].value;
            hdr.labels[hdr.data.index].value = 0x11;
        } else if (hdr.data.op == 3) {
            hdr.labels[1] = hdr.labels[0];
            hdr.data.r = (hdr.labels[1] == hdr.labels[0] ? 8w1 : 0) + (hdr.labels[2] == hdr.labels[3] ? 8w2 : 0)
                + (hdr.labels[0] == hdr.labels[2] ? 8w4 : 0);
        } else {
            hdr.labels[0].setInvalid();
            label_t[4] copy = hdr.labels;
            hdr.labels[3] = copy[1];
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
