/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_PARSER_P4
#define OFFRAMP_HERMOD_PARSER_P4
#include "types.p4"

// A frame of type IP with another version is forwarded like any frame.
parser FrameParser(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: version_4;
            ETHER_TYPE_IPV6: version_6;
            default: accept;
        }
    }

    state version_4 {
        transition select(packet.lookahead<bit<4>>()) {
            4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }

    state version_6 {
        transition select(packet.lookahead<bit<4>>()) {
            6: ipv6;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

#endif
