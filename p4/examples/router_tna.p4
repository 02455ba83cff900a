/* SPDX-License-Identifier: Apache-2.0 */
/* An IPv4 router: longest prefix, TTL, checksum verified in the parser and updated in the deparser, a copy of
   everything to a port that watches, counters in the entries. */
#include <core.p4>
#include <tna.p4>

header ethernet_h { bit<48> dst; bit<48> src; bit<16> kind; }
header ipv4_h {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header mirror_h { bit<7> pad; PortId_t port; }
struct headers { ethernet_h ethernet; ipv4_h ipv4; }
struct metadata { bool wrong; MirrorId_t session; PortId_t port; }
struct nothing { }

parser IngressParser(packet_in pkt, out headers hdr, out metadata md, out ingress_intrinsic_metadata_t ig) {
    Checksum() ipv4_checksum;
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        pkt.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        md.wrong = ipv4_checksum.verify();
        transition accept;
    }
}

control Ingress(inout headers hdr, inout metadata md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) uses;
    action drop() { dprsr.drop_ctl = 1; }
    action forward(bit<48> mac, PortId_t port) {
        uses.count();
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        tm.ucast_egress_port = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; @defaultonly drop; }
        const default_action = drop;
        counters = uses;
        size = 1024;
    }
    apply {
        md.port = ig.ingress_port;
        md.session = 1;
        dprsr.mirror_type = 1;
        if (hdr.ipv4.isValid() && !md.wrong && hdr.ipv4.ttl > 1) { routes.apply(); } else { drop(); }
        tm.bypass_egress = 1;
    }
}

control IngressDeparser(packet_out pkt, inout headers hdr, in metadata md,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Checksum() ipv4_checksum;
    Mirror() watch;
    apply {
        if (dprsr.mirror_type == 1) { watch.emit<mirror_h>(md.session, {0, md.port}); }
        hdr.ipv4.checksum = ipv4_checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
            hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst});
        pkt.emit(hdr);
    }
}

/* Only mirrored packets come here; they go out with the mirror's header in front. */
parser EgressParser(packet_in pkt, out nothing hdr, out nothing md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Egress(inout nothing hdr, inout nothing md, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) { apply { } }
control EgressDeparser(packet_out pkt, inout nothing hdr, in nothing md,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) { apply { } }

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
