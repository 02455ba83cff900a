/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_PARSER_P4
#define OFFRAMP_HERMOD_PARSER_P4
#include "types.p4"

parser FrameParser(packet_in packet, out headers_t hdr) {
#include "states.p4"

    state behind_ipv4 {
        transition accept;
    }
}

#endif
