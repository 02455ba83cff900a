/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that go round with the headers that they came with; a clock tells in which order everything happens. */
#include <core.p4>
#include <v1model.p4>
header order_t {
    bit<8> port;
    bit<8> priority;
    bit<8> op;      // 1 clone at ingress in each pass, 2 multicast in the last, 3 resubmit in the first, 4 clone at egress
    bit<8> rounds;
    bit<32> clock;
    bit<32> depths;
}
struct headers { order_t order; }
struct metadata { @field_list(1) bit<8> hop; bit<1> again; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.order); transition accept; }
}
control MyVerify(inout headers hdr, inout metadata meta) { apply { } }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<bit<32>>(1) clock;
    apply {
        bit<32> now;
        clock.read(now, 0);
        clock.write(0, now + 1);
        sm.egress_spec = (bit<9>)hdr.order.port;
        sm.priority = (bit<3>)hdr.order.priority;
        if (hdr.order.op == 3 && sm.instance_type == 0 && meta.hop == 0) {
            meta.hop = 1;
            resubmit_preserving_field_list(1);
        } else if (meta.hop < hdr.order.rounds) {
            meta.again = 1;
            if (hdr.order.op == 1) {
                clone_preserving_field_list(CloneType.I2E, 1, 1);
            }
        } else {
            hdr.order.clock = now;
            if (hdr.order.op == 2) {
                sm.mcast_grp = 1;
            }
        }
    }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<bit<32>>(1) clock;
    apply {
        bit<32> now;
        clock.read(now, 0);
        clock.write(0, now + 1);
        if (hdr.order.op == 4 && sm.instance_type == 0) {
            clone(CloneType.E2E, 1);
        }
        if (meta.again == 1 && (sm.instance_type == 0 || hdr.order.op == 1)) {
            meta.hop = meta.hop + 1;
            recirculate_preserving_field_list(1);
        } else {
            hdr.order.clock = hdr.order.clock + (now << 16);
            hdr.order.depths = ((bit<32>)sm.enq_qdepth << 16) + sm.deq_timedelta;
        }
    }
}
control MyCompute(inout headers hdr, inout metadata meta) { apply { } }
control MyDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.order); } }
V1Switch(P(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
