/* SPDX-License-Identifier: Apache-2.0 */
// Hermod (Wan, 2025, chapter 5) for v1model: a switch that serves each DSCP in the queue that the plan gives it.
// It needs strict-priority queues: offramp switch run --priority-queues 8, simple_switch -- --priority-queues 8. With
// -D ONE_QUEUE it runs where there are none: simple_switch_grpc drops what names another queue than its one.
#include <core.p4>
#include <v1model.p4>

#include "types.p4"
#include "parser.p4"
#include "trust.p4"
#include "classify.p4"
#include "police.p4"
#include "forward.p4"
#include "roles.p4"
#include "gate.p4"
#include "congestion.p4"

parser HermodParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    FrameParser() frame;

    state start {
        frame.apply(packet, hdr);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control HermodIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(DSCPS, CounterType.packets_and_bytes) by_dscp;  // what came in, IP only
    // Frames from ports that are not the job's, by port.
    counter(PORTS, CounterType.packets_and_bytes) strangers;
    Trust() trust;
    Classify() classify;
    Police() police;
    Remark() remark;
    Floor() floor;
    Forward() forward;
    Roles() roles;

    apply {
        if (standard_metadata.parser_error != error.NoError) {
            meta.drop = 1;
        } else {
            classify.apply(hdr, meta);
            if (meta.is_ip == 1) {
                by_dscp.count((bit<32>)meta.dscp);
            }
            trust.apply(meta, standard_metadata.ingress_port);
            if (meta.demoted == 1) {
                strangers.count((bit<32>)standard_metadata.ingress_port);
            } else {
                police.apply(meta, standard_metadata.ingress_port);
            }
            if (meta.demoted == 1) {
                remark.apply(hdr, meta);
            } else {
                roles.apply(meta);
            }
            forward.apply(hdr, meta);
            if (meta.queue != 0 && meta.group == 0 && meta.drop == 0) {
                floor.apply(meta);
            }
        }
#ifndef ONE_QUEUE
        standard_metadata.priority = meta.queue;
#endif
        if (meta.drop == 1) {
            mark_to_drop(standard_metadata);
        } else if (meta.group != 0) {
            standard_metadata.mcast_grp = meta.group;
        } else {
            standard_metadata.egress_spec = meta.port;
        }
    }
}

control HermodEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Index: (port << 3) + queue. Bytes as they leave.
    counter(PORT_QUEUES, CounterType.packets_and_bytes) sent;
    counter(PORT_QUEUES, CounterType.packets) marked;
    counter(PORT_QUEUES, CounterType.packets_and_bytes) dropped;
    Congestion() congestion;
    Gate() gate;

    apply {
        if (standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);  // nothing leaves where it came in
        } else {
            bit<32> index = (bit<32>)(standard_metadata.egress_port ++ meta.queue);
            bit<1> mark;
            meta.depth = standard_metadata.enq_qdepth;
            congestion.apply(hdr, meta, mark);
            bit<32> now = (bit<32>)(standard_metadata.egress_global_timestamp >> 6);
            gate.apply(meta, now, standard_metadata.ingress_port, standard_metadata.egress_port);
            if (meta.drop == 1) {
                dropped.count(index);
                mark_to_drop(standard_metadata);
            } else {
                sent.count(index);
                if (mark == 1) {
                    marked.count(index);
                }
            }
        }
    }
}

control HermodDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(
    HermodParser(),
    NoChecksum(),
    HermodIngress(),
    HermodEgress(),
    NoChecksum(),
    HermodDeparser()
) main;
