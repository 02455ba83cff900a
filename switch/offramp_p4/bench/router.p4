/* SPDX-License-Identifier: Apache-2.0 */
// A small IPv4 router, to measure: five tables, header checksum verified and updated.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
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
    bit<16> vrf;
    bit<32> next_hop;
}

#define CHECKED_FIELDS { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, \
    hdr.ipv4.src_addr, hdr.ipv4.dst_addr }

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VerifyHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), CHECKED_FIELDS, hdr.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action drop() {
        mark_to_drop(sm);
    }

    action set_vrf(bit<16> vrf) {
        meta.vrf = vrf;
    }

    action permit() { }

    action route(bit<32> next_hop) {
        meta.next_hop = next_hop;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action forward(bit<48> dst_addr, bit<9> port) {
        hdr.ethernet.dst_addr = dst_addr;
        sm.egress_spec = port;
    }

    table port_to_vrf {
        key = { sm.ingress_port: exact; }
        actions = { set_vrf; drop; }
        default_action = set_vrf(0);
        size = 512;
    }

    table acl {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.protocol: ternary;
        }
        actions = { permit; drop; }
        default_action = permit();
        size = 1024;
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
        if (hdr.ipv4.isValid() && sm.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            port_to_vrf.apply();
            acl.apply();
            if (routes.apply().hit) {
                next_hops.apply();
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action rewrite(bit<48> src_addr) {
        hdr.ethernet.src_addr = src_addr;
    }

    table port_to_address {
        key = { sm.egress_port: exact; }
        actions = { rewrite; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        port_to_address.apply();
    }
}

control UpdateHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), CHECKED_FIELDS, hdr.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(RouterParser(), VerifyHeader(), RouterIngress(), RouterEgress(), UpdateHeader(), RouterDeparser()) main;
