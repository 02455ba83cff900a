/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation in the manner of SwitchML: workers send chunks of 32 integers for a slot; the packet that completes a
   slot carries the sums to all of them, and any other is dropped. A bitmap per slot makes retransmissions harmless. */
#include <core.p4>
#include <tna.p4>

#ifndef WORKERS
#define WORKERS 4
#endif
#define SLOTS 256

header chunk_h { bit<16> slot; bit<8> worker; bit<8> done; }
header lanes_h {
    int<32> v0; int<32> v1; int<32> v2; int<32> v3; int<32> v4; int<32> v5; int<32> v6; int<32> v7;
    int<32> v8; int<32> v9; int<32> v10; int<32> v11; int<32> v12; int<32> v13; int<32> v14; int<32> v15;
    int<32> v16; int<32> v17; int<32> v18; int<32> v19; int<32> v20; int<32> v21; int<32> v22; int<32> v23;
    int<32> v24; int<32> v25; int<32> v26; int<32> v27; int<32> v28; int<32> v29; int<32> v30; int<32> v31;
}
struct headers { chunk_h chunk; lanes_h lanes; }
struct metadata { bit<32> mask; bit<32> before; bit<8> left; bit<8> operation; }

parser IngressParser(packet_in pkt, out headers hdr, out metadata md, out ingress_intrinsic_metadata_t ig) {
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.chunk);
        pkt.extract(hdr.lanes);
        transition accept;
    }
}

control Lane(inout int<32> value, in bit<16> slot, in bit<8> operation) {
    Register<int<32>, bit<16>>(SLOTS) sums;
    RegisterAction<int<32>, bit<16>, int<32>>(sums) set = { void apply(inout int<32> sum) { sum = value; } };
    RegisterAction<int<32>, bit<16>, int<32>>(sums) add = {
        void apply(inout int<32> sum, out int<32> now) { sum = sum + value; now = sum; }
    };
    action do_set() { set.execute(slot); }
    action do_add() { value = add.execute(slot); }
    table lane {
        key = { operation: exact; }
        actions = { do_set; do_add; NoAction; }
        const entries = { 1: do_set(); 2: do_add(); }
        const default_action = NoAction;
        size = 4;
    }
    apply { lane.apply(); }
}

control Ingress(inout headers hdr, inout metadata md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<32>, bit<16>>(SLOTS) seen;
    RegisterAction<bit<32>, bit<16>, bit<32>>(seen) mark = {
        void apply(inout bit<32> bitmap, out bit<32> before) { before = bitmap & md.mask; bitmap = bitmap | md.mask; }
    };
    Register<bit<8>, bit<16>>(SLOTS) counts;
    RegisterAction<bit<8>, bit<16>, bit<8>>(counts) count = {
        void apply(inout bit<8> left, out bit<8> before) {
            before = left;
            if (left == 0) { left = WORKERS - 1; } else { left = left - 1; }
        }
    };
    action to_mask(bit<32> mask) { md.mask = mask; }
    table masks { key = { hdr.chunk.worker: exact; } actions = { to_mask; } size = 32; }
    Lane() l0; Lane() l1; Lane() l2; Lane() l3; Lane() l4; Lane() l5; Lane() l6; Lane() l7;
    Lane() l8; Lane() l9; Lane() l10; Lane() l11; Lane() l12; Lane() l13; Lane() l14; Lane() l15;
    Lane() l16; Lane() l17; Lane() l18; Lane() l19; Lane() l20; Lane() l21; Lane() l22; Lane() l23;
    Lane() l24; Lane() l25; Lane() l26; Lane() l27; Lane() l28; Lane() l29; Lane() l30; Lane() l31;
    apply {
        if (masks.apply().hit) {
            md.before = mark.execute(hdr.chunk.slot);
            if (md.before == 0) {
                md.left = count.execute(hdr.chunk.slot);
                if (md.left == 0) { md.operation = 1; } else { md.operation = 2; }
            }
            l0.apply(hdr.lanes.v0, hdr.chunk.slot, md.operation); l1.apply(hdr.lanes.v1, hdr.chunk.slot, md.operation);
            l2.apply(hdr.lanes.v2, hdr.chunk.slot, md.operation); l3.apply(hdr.lanes.v3, hdr.chunk.slot, md.operation);
            l4.apply(hdr.lanes.v4, hdr.chunk.slot, md.operation); l5.apply(hdr.lanes.v5, hdr.chunk.slot, md.operation);
            l6.apply(hdr.lanes.v6, hdr.chunk.slot, md.operation); l7.apply(hdr.lanes.v7, hdr.chunk.slot, md.operation);
            l8.apply(hdr.lanes.v8, hdr.chunk.slot, md.operation); l9.apply(hdr.lanes.v9, hdr.chunk.slot, md.operation);
            l10.apply(hdr.lanes.v10, hdr.chunk.slot, md.operation); l11.apply(hdr.lanes.v11, hdr.chunk.slot, md.operation);
            l12.apply(hdr.lanes.v12, hdr.chunk.slot, md.operation); l13.apply(hdr.lanes.v13, hdr.chunk.slot, md.operation);
            l14.apply(hdr.lanes.v14, hdr.chunk.slot, md.operation); l15.apply(hdr.lanes.v15, hdr.chunk.slot, md.operation);
            l16.apply(hdr.lanes.v16, hdr.chunk.slot, md.operation); l17.apply(hdr.lanes.v17, hdr.chunk.slot, md.operation);
            l18.apply(hdr.lanes.v18, hdr.chunk.slot, md.operation); l19.apply(hdr.lanes.v19, hdr.chunk.slot, md.operation);
            l20.apply(hdr.lanes.v20, hdr.chunk.slot, md.operation); l21.apply(hdr.lanes.v21, hdr.chunk.slot, md.operation);
            l22.apply(hdr.lanes.v22, hdr.chunk.slot, md.operation); l23.apply(hdr.lanes.v23, hdr.chunk.slot, md.operation);
            l24.apply(hdr.lanes.v24, hdr.chunk.slot, md.operation); l25.apply(hdr.lanes.v25, hdr.chunk.slot, md.operation);
            l26.apply(hdr.lanes.v26, hdr.chunk.slot, md.operation); l27.apply(hdr.lanes.v27, hdr.chunk.slot, md.operation);
            l28.apply(hdr.lanes.v28, hdr.chunk.slot, md.operation); l29.apply(hdr.lanes.v29, hdr.chunk.slot, md.operation);
            l30.apply(hdr.lanes.v30, hdr.chunk.slot, md.operation); l31.apply(hdr.lanes.v31, hdr.chunk.slot, md.operation);
            if (md.left == 1) {
                hdr.chunk.done = 1;
                tm.mcast_grp_a = 1;
            }
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
