/* SPDX-License-Identifier: Apache-2.0 */
// The states of every parser behind IPv4.
    state switchgnn {
        packet.extract(hdr.switchgnn);
        transition select(hdr.switchgnn.is_ack, hdr.switchgnn.is_fetch, hdr.switchgnn.resend) {
            (0, 0, 0): payload;
            default: accept;
        }
    }

    // More segments than an aggregator has end in a parser error.
    state payload {
        packet.extract(hdr.payload);
        transition select(hdr.switchgnn.more) {
            0: accept;
#if SWITCHGNN_SEGMENTS >= 2
            1: payload1;
#endif
#if SWITCHGNN_SEGMENTS == 4
            2: payload1;
            3: payload1;
#endif
        }
    }

#if SWITCHGNN_SEGMENTS >= 2
    state payload1 {
        packet.extract(hdr.payload1);
#if SWITCHGNN_SEGMENTS == 2
        transition accept;
#else
        transition select(hdr.switchgnn.more) {
            1: accept;
            default: payload2;
        }
#endif
    }
#endif

#if SWITCHGNN_SEGMENTS == 4
    state payload2 {
        packet.extract(hdr.payload2);
        transition select(hdr.switchgnn.more) {
            2: accept;
            default: payload3;
        }
    }

    state payload3 {
        packet.extract(hdr.payload3);
        transition accept;
    }
#endif
