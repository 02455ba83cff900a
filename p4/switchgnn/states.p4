/* SPDX-License-Identifier: Apache-2.0 */
// The states of every target's parser behind Ethernet.
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
