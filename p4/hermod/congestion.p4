/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_CONGESTION_P4
#define OFFRAMP_HERMOD_CONGESTION_P4
#include "types.p4"

// No queue is as long.
const bit<19> NEVER = 0x7FFFF;

// Marks a frame that found more in its queue than the threshold of its profile (RFC 3168), in the units in which the
// target counts: packets on bmv2, cells on a Tofino. Without an entry nothing is marked.
control HermodCongestion(inout headers_t hdr, inout hermod_metadata_t meta, out bit<1> marked) {
    bit<1> or_drop = 0;

    // Frames of transports without ECN pass.
    action mark(bit<19> threshold) {
        meta.threshold = threshold;
    }

    // They are dropped instead, as random early detection does.
    action mark_or_drop(bit<19> threshold) {
        meta.threshold = threshold;
        or_drop = 1;
    }

    table profiles {
        key = {
            meta.profile: exact @name("profile");
        }
        actions = { mark; mark_or_drop; @defaultonly NoAction; }
        const default_action = NoAction;
        size = PROFILES;
    }

    @hidden
    action subtract() {
        meta.excess = meta.depth |-| meta.threshold;
    }

    // A table, since Tofino compares two fields by an action only.
    @hidden
    table compare {
        actions = { subtract; }
        const default_action = subtract;
        size = 1;
    }

    action mark_ipv6() {
        hdr.ipv6.traffic_class[1:0] = CE;
        marked = 1;
    }

    // The header's sum grows by what the mark adds to its word: one less is left in the checksum, or two, and one
    // more where that borrows (RFC 1624). A wrong checksum stays wrong; options need not be read.
    action mark_ipv4(bit<16> less) {
        hdr.ipv4.diffserv[1:0] = CE;
        hdr.ipv4.header_checksum = hdr.ipv4.header_checksum - less;
        marked = 1;
    }

    apply {
        marked = 0;
        meta.threshold = NEVER;
        if (hdr.ipv4.isValid()) {
            meta.ecn = hdr.ipv4.diffserv[1:0];
        } else if (hdr.ipv6.isValid()) {
            meta.ecn = hdr.ipv6.traffic_class[1:0];
        }
        profiles.apply();
        compare.apply();
        if (meta.excess != 0) {
            if (meta.ecn == NOT_ECT) {
                meta.drop = or_drop;
            } else if (hdr.ipv6.isValid() && meta.ecn != CE) {
                mark_ipv6();
            } else if (meta.ecn == ECT_0) {
                if (hdr.ipv4.header_checksum == 0) {
                    mark_ipv4(2);
                } else {
                    mark_ipv4(1);
                }
            } else if (meta.ecn == ECT_1) {
                if (hdr.ipv4.header_checksum[15:1] == 0) {
                    mark_ipv4(3);
                } else {
                    mark_ipv4(2);
                }
            }
        }
    }
}

#endif
