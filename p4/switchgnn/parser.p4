#ifndef OFFRAMP_SWITCHGNN_PARSER_P4
#define OFFRAMP_SWITCHGNN_PARSER_P4

#include "types.p4"

// What is not SwitchGNN is accepted without a SwitchGNN header; what is too short ends in a parser error.
parser SwitchGnnParser(packet_in packet,
                       out headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_SWITCHGNN): switchgnn;
            default: accept;
        }
    }

    state switchgnn {
        packet.extract(hdr.switchgnn);
        transition select(hdr.switchgnn.is_ack, hdr.switchgnn.is_fetch, hdr.switchgnn.resend) {
            (0, 0, 0): payload;
            default: accept;
        }
    }

    state payload {
        packet.extract(hdr.payload);
        transition accept;
    }
}

control SwitchGnnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.switchgnn);
        packet.emit(hdr.payload);
    }
}

#endif
