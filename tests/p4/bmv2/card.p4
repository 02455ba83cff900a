/* SPDX-License-Identifier: Apache-2.0 */
/* A program with everything that bmv2's JSON has for a card; pna_nic 1.15.5 itself lacks drop_packet and registers. */
#include <core.p4>
#include <bmv2/pna.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ip_t { bit<8> ttl; bit<8> proto; bit<16> sum; bit<32> addr; }
struct headers_t { eth_t eth; ip_t ip; }
struct meta_t { bit<16> seen; }
parser P(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t i) {
    state start { p.extract(h.eth); transition select(h.eth.kind) { 0x800: ip; default: accept; } }
    state ip { p.extract(h.ip); transition accept; }
}
control C(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    Register<bit<16>, bit<32>>(4) r;
    Counter<bit<64>, bit<2>>(4, PNA_CounterType_t.PACKETS) c;
    DirectCounter<bit<64>>(PNA_CounterType_t.PACKETS_AND_BYTES) d;
    Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) hash;
    action forward(bit<32> port) { d.count(); send_to_port((PortId_t)port); }
    action discard() { drop_packet(); }
    table t {
        key = { h.eth.dst : exact; i.input_port : ternary; }
        actions = { forward; discard; NoAction; }
        default_action = NoAction;
        pna_direct_counter = d;
    }
    apply {
        send_to_port((PortId_t)32w7);
        m.seen = r.read((bit<32>)(PortIdUint_t)i.input_port);
        m.seen = m.seen + 1;
        r.write((bit<32>)(PortIdUint_t)i.input_port, m.seen);
        c.count(h.eth.src[1:0]);
        if (i.parser_error != error.NoError) { drop_packet(); }
        else { t.apply(); h.eth.src[15:0] = hash.get_hash({ h.eth.dst, m.seen }); }
        o.class_of_service = (ClassOfService_t)8w3;
    }
}
control D(packet_out p, inout headers_t h, in meta_t m, in pna_main_output_metadata_t o) {
    InternetChecksum() sum;
    apply {
        if (h.ip.isValid()) { sum.clear(); sum.add({ h.ip.ttl, h.ip.proto, h.ip.addr }); h.ip.sum = sum.get(); }
        p.emit(h.eth); p.emit(h.ip);
    }
}
PNA_NIC(P(), C(), D()) main;
