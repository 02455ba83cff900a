/* SPDX-License-Identifier: Apache-2.0 */
// A small IPv4 router: the equal of fib.spec.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> header_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<32> next_hop;
}

parser FibParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control FibIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action drop() {
        mark_to_drop(sm);
    }

    action route(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    action forward(bit<48> dst_addr, bit<48> src_addr, bit<16> ether_type, bit<9> port) {
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.ether_type = ether_type;
        // The checksum without the old TTL and with the new one (RFC 1624): 0x100 more in ones' complement.
        bit<17> sum = (bit<17>) hdr.ipv4.header_checksum + 0x100;
        hdr.ipv4.header_checksum = sum[15:0] + (bit<16>) sum[16:16];
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        sm.egress_spec = port;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { route; drop; }
        default_action = drop();
        size = 131072;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 65536;
    }

    apply {
        if (routes.apply().hit) {
            next_hops.apply();
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }

control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }

control FibDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(FibParser(), NoVerify(), FibIngress(), NoEgress(), NoUpdate(), FibDeparser()) main;
