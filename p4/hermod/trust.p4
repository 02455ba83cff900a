/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_TRUST_P4
#define OFFRAMP_HERMOD_TRUST_P4
#include "types.p4"

// Only DSCPs from the job's ports count. A frame from another port is best effort, whatever it says, and so
// is what does not say anything, such as ARP. Without entries every port is the job's.
control Trust(inout hermod_metadata_t meta, in bit<9> port) {
    action trust() {
    }

    action best_effort() {
        meta.demoted = 1;
    }

    table members {
        key = { port: exact @name("port"); }
        actions = { trust; best_effort; }
        default_action = trust();
        size = PORTS;
    }

    apply {
        members.apply();
    }
}

// Demoted frames use the lowest queue, with best effort as DSCP for the switches behind this one (RFC 2474).
// The header's sum falls by what is taken from its word, and the checksum grows by as much, with an end-around carry
// (RFC 1624): where it comes to all ones, it is 0.
control Remark(inout headers_t hdr, inout hermod_metadata_t meta) {
    @hidden
    action taken() {
        meta.taken = (bit<16>)meta.dscp;
        hdr.ipv4.diffserv = hdr.ipv4.diffserv & 0x03;
    }

    @hidden
    action scale() {
        meta.taken = meta.taken << 2;
    }

    @hidden
    action add() {
        meta.most = hdr.ipv4.header_checksum |+| meta.taken;
        hdr.ipv4.header_checksum = hdr.ipv4.header_checksum + meta.taken;
    }

    @hidden
    action carry() {
        hdr.ipv4.header_checksum = hdr.ipv4.header_checksum + 1;
    }

    apply {
        meta.queue = 0;
        meta.profile = 0;
        if (hdr.ipv6.isValid()) {
            hdr.ipv6.traffic_class = hdr.ipv6.traffic_class & 0x03;
        } else if (hdr.ipv4.isValid() && meta.dscp != 0) {
            taken();
            scale();
            add();
            if (meta.most == 0xFFFF) {
                carry();
            }
        }
    }
}

#endif
