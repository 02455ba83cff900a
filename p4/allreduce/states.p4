/* SPDX-License-Identifier: Apache-2.0 */
// The states of v1model's parsers behind IPv4. A packet without all of its segments ends in a parser error.
    state allreduce {
        packet.extract(hdr.allreduce);
        transition select(hdr.allreduce.kind) {
            KIND_DATA: segments;
            KIND_AGAIN: segments;
            KIND_RESULT: segments;
            default: accept;
        }
    }

    state segments {
        EACH_SEGMENT(EXTRACT_SEGMENT)
        transition accept;
    }
