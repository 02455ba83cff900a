/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a packet where its first bytes say, and writes what the queue did to it into the rest. */
#include <core.p4>
#include <v1model.p4>
header order_t {
    bit<8> port;
    bit<8> priority;
    bit<8> op;      // 1 multicast, 2 clone at ingress, 3 clone at egress, 4 recirculate, 5 resubmit, 6 drop at egress
    bit<8> passes;  // left for operations 4 and 5
    bit<32> enq_timestamp;
    bit<32> deq_timedelta;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
    bit<48> egress_timestamp;
}
struct headers { order_t order; }
struct metadata { @field_list(1) bit<8> passes; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.order); transition accept; }
}
control MyVerify(inout headers hdr, inout metadata meta) { apply { } }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (bit<9>)hdr.order.port;
        sm.priority = (bit<3>)hdr.order.priority;
        if (hdr.order.op == 1) {
            sm.mcast_grp = 1;
        } else if (hdr.order.op == 2) {
            clone(CloneType.I2E, 1);
        } else if (hdr.order.op == 5 && meta.passes != hdr.order.passes) {
            meta.passes = meta.passes + 1;
            resubmit_preserving_field_list(1);
        }
    }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.order.op == 3 && sm.instance_type == 0) {
            clone(CloneType.E2E, 1);
        } else if (hdr.order.op == 4 && hdr.order.passes != 0) {
            hdr.order.passes = hdr.order.passes - 1;
            recirculate_preserving_field_list(0);
        } else if (hdr.order.op == 6) {
            mark_to_drop(sm);
        }
        hdr.order.enq_timestamp = sm.enq_timestamp;
        hdr.order.deq_timedelta = sm.deq_timedelta;
        hdr.order.enq_qdepth = (bit<32>)sm.enq_qdepth;
        hdr.order.deq_qdepth = (bit<32>)sm.deq_qdepth;
        hdr.order.egress_timestamp = sm.egress_global_timestamp;
    }
}
control MyCompute(inout headers hdr, inout metadata meta) { apply { } }
control MyDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.order); } }
V1Switch(P(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
