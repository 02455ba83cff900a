// Selects on values, masks, ranges and tuples; look-ahead, advance, sub-parsers, verify, errors.
#include "v1.p4"
#undef PARSER
#define PARSER TestParser

error { BadKind }

header kind_t { bit<8> kind; }
header pair_t { bit<8> x; bit<8> y; }
header out_t { bit<8> path; bit<8> fault; }
struct headers_t {
    out_t result;
    kind_t kind;
    pair_t pair;
}
struct metadata_t {
    bit<8> path;
    bit<8> after;
    bit<4> peek;
}

parser Pairs(packet_in packet, out pair_t pair) {
    state start {
        packet.extract(pair);
        transition select(pair.x, pair.y) {
            (1, 2): accept;
            (0x80 &&& 0xF0, _): accept;
            (3 .. 5, 0): accept;
            default: wrong;
        }
    }
    state wrong {
        verify(pair.x == pair.y, error.BadKind);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Pairs() pairs;
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: sub;
            2: peek;
            3: skip;
            4 .. 7: short;
        }
    }
    state sub {
        meta.path = 1;
        pairs.apply(packet, hdr.pair);
        meta.after = 1;
        transition accept;
    }
    state peek {
        meta.path = 3;
        meta.peek = packet.lookahead<bit<4>>();
        transition select(packet.lookahead<pair_t>().y) {
            9: sub;
            default: accept;
        }
    }
    state skip {
        meta.path = 4;
        packet.advance((bit<32>)packet.lookahead<bit<8>>() << 3);
        packet.extract(hdr.pair);
        transition accept;
    }
    state short {
        meta.path = 5;
        packet.extract(hdr.pair);
        packet.advance(8000);
        transition accept;
    }
}

NO_VERIFY
INGRESS {
    apply {
        hdr.result.setValid();
        hdr.result.path = (meta.path + meta.after) ^ ((bit<8>)meta.peek << 4);
        if (sm.parser_error == error.NoError) {
            hdr.result.fault = 0;
        } else if (sm.parser_error == error.PacketTooShort) {
            hdr.result.fault = 1;
        } else if (sm.parser_error == error.NoMatch) {
            hdr.result.fault = 2;
        } else if (sm.parser_error == error.BadKind) {
            hdr.result.fault = 3;
        } else {
            hdr.result.fault = 0xFF;
        }
        sm.egress_spec = 1;
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
