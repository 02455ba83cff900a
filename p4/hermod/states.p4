/* SPDX-License-Identifier: Apache-2.0 */
// The states of v1model's and Tofino's parsers of a frame. A frame of type IP with another version is forwarded like any.
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
        transition behind_ipv4;
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
