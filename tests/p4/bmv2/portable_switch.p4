/* SPDX-License-Identifier: Apache-2.0 */
/* A program for bmv2's psa_switch with everything that its JSON has for a switch. */
#include <core.p4>
#include <bmv2/psa.p4>
header word_t { bit<8> a; bit<8> b; bit<16> c; bit<32> d; }
struct headers_t { word_t w; word_t[2] s; }
struct none_t { }
struct meta_t { bit<16> m; bool flag; }
struct carried_t { bit<16> c; }
struct told_t { bit<8> a; bit<16> m; }
parser IP(packet_in p, out headers_t h, inout meta_t m, in psa_ingress_parser_input_metadata_t i, in none_t r,
          in none_t c) {
    InternetChecksum() seen;
    state start {
        p.extract(h.w);
        seen.add({ h.w.a, h.w.b, h.w.d });
        m.flag = seen.get() == h.w.c;
        transition select(i.packet_path, h.w.a) { (PSA_PacketPath_t.RESUBMIT, _): accept; (_, 9): more; default: accept; }
    }
    state more { p.extract(h.s.next); transition accept; }
}
control I(inout headers_t h, inout meta_t m, in psa_ingress_input_metadata_t i,
          inout psa_ingress_output_metadata_t o) {
    Counter<bit<64>, bit<8>>(4, PSA_CounterType_t.BYTES) c;
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS) k;
    Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) g;
    DirectMeter(PSA_MeterType_t.BYTES) f;
    Register<bit<16>, bit<8>>(4) r;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) u;
    Random<bit<8>>(1, 6) n;
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 32w16, 32w16) s;
    action to(bit<32> port) { k.count(); send_to_port(o, (PortId_t)port); }
    action by(bit<32> port) { if (f.execute() == PSA_MeterColor_t.RED) { ingress_drop(o); } h.w.b = n.read(); }
    action out_of(bit<32> port) { send_to_port(o, (PortId_t)port); }
    table t { key = { h.w.a : exact; i.ingress_port : ternary; } actions = { to; NoAction; } psa_direct_counter = k; }
    table v { key = { h.w.b : lpm; } actions = { by; NoAction; } psa_direct_meter = f; }
    table w { key = { h.w.a : exact; h.w.c : selector; } actions = { out_of; NoAction; } psa_implementation = s; }
    apply {
        send_to_port(o, (PortId_t)32w1);
        c.count(h.w.a);
        if (g.execute(h.w.b) == PSA_MeterColor_t.RED) { exit; }
        m.m = r.read(h.w.a) + 1;
        r.write(h.w.a, m.m);
        h.w.c = u.get_hash(16w3, { h.w.a, h.w.d }, 16w100);
        t.apply();
        if (v.apply().hit) { w.apply(); }
        o.resubmit = h.w.d == 77 && i.packet_path == PSA_PacketPath_t.NORMAL;
    }
}
control ID(packet_out p, out none_t c, out none_t r, out carried_t n, inout headers_t h, in meta_t m,
           in psa_ingress_output_metadata_t o) {
    Digest<told_t>() told;
    InternetChecksum() q;
    apply {
        if (psa_normal(o)) { n.c = m.m; }
        if (m.flag) { told.pack({ h.w.a, m.m }); }
        if (h.w.isValid()) { q.clear(); q.add({ h.w.a, h.w.b, h.w.d }); h.w.c = q.get(); } else { h.w.c = 0; }
        p.emit(h);
    }
}
parser EP(packet_in p, out headers_t h, inout meta_t m, in psa_egress_parser_input_metadata_t i, in carried_t n,
          in none_t a, in none_t b) {
    state start { p.extract(h.w); m.m = n.c; transition select(h.w.a) { 9: more; default: accept; } }
    state more { p.extract(h.s.next); transition accept; }
}
control E(inout headers_t h, inout meta_t m, in psa_egress_input_metadata_t i,
          inout psa_egress_output_metadata_t o) {
    apply { h.w.d[15:0] = m.m; if (h.w.a == 255) { egress_drop(o); } }
}
control ED(packet_out p, out none_t c, out none_t r, inout headers_t h, in meta_t m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) { apply { p.emit(h); } }
PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
           BufferingQueueingEngine()) main;
