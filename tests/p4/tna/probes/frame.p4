/* SPDX-License-Identifier: Apache-2.0 */
/* What the three probes share: the packet, the look-ups, the duplicate guard and 32 lanes.
   A probe defines PROBE_STATE (its registers) and PROBE_CHAIN (from a packet that is new to md.code). */
#include <core.p4>
#include <tna.p4>

header ethernet_h { bit<48> dst; bit<48> src; bit<16> kind; }
header gnn_h { bit<16> block; bit<32> vertex; bit<8> hop; bit<16> round; bit<16> degree; bit<16> slot; }
header lanes_h {
    bit<32> v0; bit<32> v1; bit<32> v2; bit<32> v3; bit<32> v4; bit<32> v5; bit<32> v6; bit<32> v7;
    bit<32> v8; bit<32> v9; bit<32> v10; bit<32> v11; bit<32> v12; bit<32> v13; bit<32> v14; bit<32> v15;
    bit<32> v16; bit<32> v17; bit<32> v18; bit<32> v19; bit<32> v20; bit<32> v21; bit<32> v22; bit<32> v23;
    bit<32> v24; bit<32> v25; bit<32> v26; bit<32> v27; bit<32> v28; bit<32> v29; bit<32> v30; bit<32> v31;
}
struct headers { ethernet_h ethernet; gnn_h gnn; lanes_h lanes; }
struct metadata { bit<16> agg; bit<16> slot; bit<16> seen; bit<8> code; bit<16> tag; bit<16> left; bit<32> pair; }
struct pair_t { bit<32> tag; bit<32> left; }

parser IngressParser(packet_in pkt, out headers hdr, out metadata md, out ingress_intrinsic_metadata_t ig) {
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        pkt.extract(hdr.gnn);
        pkt.extract(hdr.lanes);
        transition accept;
    }
}

/* One lane: what the code says happens to its word. */
control Lane(inout bit<32> value, in bit<16> agg, in bit<8> code) {
    Register<bit<32>, bit<16>>(32768) words;
    RegisterAction<bit<32>, bit<16>, bit<32>>(words) set = { void apply(inout bit<32> word) { word = value; } };
    RegisterAction<bit<32>, bit<16>, bit<32>>(words) add = { void apply(inout bit<32> word) { word = word + value; } };
    RegisterAction<bit<32>, bit<16>, bit<32>>(words) finish = {
        void apply(inout bit<32> word, out bit<32> sum) { word = word + value; sum = word; }
    };
    action do_set() { set.execute(agg); }
    action do_add() { add.execute(agg); }
    action do_finish() { value = finish.execute(agg); }
    table lane {
        key = { code: exact; }
        actions = { do_set; do_add; do_finish; NoAction; }
        const entries = { 1: do_set(); 4: do_set(); 2: do_add(); 8: do_finish(); }
        const default_action = NoAction;
        size = 8;
    }
    apply { lane.apply(); }
}

control Ingress(inout headers hdr, inout metadata md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    action to_aggregator(bit<16> agg) { md.agg = agg; }
    table v2agg {
        key = { hdr.gnn.block: exact; hdr.gnn.vertex: exact; hdr.gnn.hop: exact; }
        actions = { to_aggregator; NoAction; }
        default_action = NoAction;
        size = 65536;
    }
    action to_port(PortId_t port, bit<16> slot) { tm.ucast_egress_port = port; md.slot = slot; }
    table slots {
        key = { hdr.gnn.slot: exact; }
        actions = { to_port; NoAction; }
        default_action = NoAction;
        size = 16384;
    }
    Register<bit<16>, bit<16>>(16384, 0xFFFF) seen;
    RegisterAction<bit<16>, bit<16>, bit<16>>(seen) first_time = {
        void apply(inout bit<16> round, out bit<16> before) { before = round; round = hdr.gnn.round; }
    };
    PROBE_STATE
    Lane() l0; Lane() l1; Lane() l2; Lane() l3; Lane() l4; Lane() l5; Lane() l6; Lane() l7;
    Lane() l8; Lane() l9; Lane() l10; Lane() l11; Lane() l12; Lane() l13; Lane() l14; Lane() l15;
    Lane() l16; Lane() l17; Lane() l18; Lane() l19; Lane() l20; Lane() l21; Lane() l22; Lane() l23;
    Lane() l24; Lane() l25; Lane() l26; Lane() l27; Lane() l28; Lane() l29; Lane() l30; Lane() l31;
    apply {
        v2agg.apply();
        slots.apply();
        md.seen = first_time.execute(md.slot);
        if (md.seen != hdr.gnn.round) {
            PROBE_CHAIN
            l0.apply(hdr.lanes.v0, md.agg, md.code); l1.apply(hdr.lanes.v1, md.agg, md.code);
            l2.apply(hdr.lanes.v2, md.agg, md.code); l3.apply(hdr.lanes.v3, md.agg, md.code);
            l4.apply(hdr.lanes.v4, md.agg, md.code); l5.apply(hdr.lanes.v5, md.agg, md.code);
            l6.apply(hdr.lanes.v6, md.agg, md.code); l7.apply(hdr.lanes.v7, md.agg, md.code);
            l8.apply(hdr.lanes.v8, md.agg, md.code); l9.apply(hdr.lanes.v9, md.agg, md.code);
            l10.apply(hdr.lanes.v10, md.agg, md.code); l11.apply(hdr.lanes.v11, md.agg, md.code);
            l12.apply(hdr.lanes.v12, md.agg, md.code); l13.apply(hdr.lanes.v13, md.agg, md.code);
            l14.apply(hdr.lanes.v14, md.agg, md.code); l15.apply(hdr.lanes.v15, md.agg, md.code);
            l16.apply(hdr.lanes.v16, md.agg, md.code); l17.apply(hdr.lanes.v17, md.agg, md.code);
            l18.apply(hdr.lanes.v18, md.agg, md.code); l19.apply(hdr.lanes.v19, md.agg, md.code);
            l20.apply(hdr.lanes.v20, md.agg, md.code); l21.apply(hdr.lanes.v21, md.agg, md.code);
            l22.apply(hdr.lanes.v22, md.agg, md.code); l23.apply(hdr.lanes.v23, md.agg, md.code);
            l24.apply(hdr.lanes.v24, md.agg, md.code); l25.apply(hdr.lanes.v25, md.agg, md.code);
            l26.apply(hdr.lanes.v26, md.agg, md.code); l27.apply(hdr.lanes.v27, md.agg, md.code);
            l28.apply(hdr.lanes.v28, md.agg, md.code); l29.apply(hdr.lanes.v29, md.agg, md.code);
            l30.apply(hdr.lanes.v30, md.agg, md.code); l31.apply(hdr.lanes.v31, md.agg, md.code);
        }
        tm.bypass_egress = 1;
    }
}

control IngressDeparser(packet_out pkt, inout headers hdr, in metadata md,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { pkt.emit(hdr); }
}

parser EgressParser(packet_in pkt, out headers hdr, out metadata md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Egress(inout headers hdr, inout metadata md, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) { apply { } }
control EgressDeparser(packet_out pkt, inout headers hdr, in metadata md,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) { apply { pkt.emit(hdr); } }

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
