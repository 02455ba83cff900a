/* SPDX-License-Identifier: Apache-2.0 */
// Hermod (Wan, 2025, chapter 5) for Tofino: what v1model.p4 does. The priorities of the queues 0 to 7 of each port, the
// highest first, are set in the traffic manager.
#include <core.p4>
#include <tna.p4>

#include "headers.p4"
#include "parser.p4"
#include "trust.p4"
#include "classify.p4"
#include "police_tna.p4"
#include "forward.p4"
#include "roles.p4"
#include "gate_tna.p4"
#include "congestion.p4"

// From ingress to egress: a header before Ethernet, which never leaves the switch.
header bridge_t {
    bit<7> reserved;
    bit<9> came_from;
    bit<2> more_reserved;
    bit<3> queue;
    bit<3> profile;
    bit<5> still_more_reserved;
    bit<1> closes;
    bit<1> opens;
    bit<1> held;
}

struct pipe_metadata_t {
    hermod_metadata_t frame;
    bridge_t   bridge;
}

#define UNKNOWN { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

parser HermodParser(packet_in packet,
                    out headers_t hdr,
                    out pipe_metadata_t meta,
                    out ingress_intrinsic_metadata_t intrinsic) {
    FrameParser() frame;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.frame = UNKNOWN;
        frame.apply(packet, hdr);
        transition accept;
    }
}

control HermodIngress(inout headers_t hdr,
                      inout pipe_metadata_t meta,
                      in ingress_intrinsic_metadata_t intrinsic,
                      in ingress_intrinsic_metadata_from_parser_t from_parser,
                      inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                      inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Counter<bit<64>, bit<6>>(DSCPS, CounterType_t.PACKETS_AND_BYTES) by_dscp;  // what came in, IP only
    // Frames from ports that are not the job's, by port.
    Counter<bit<64>, bit<9>>(PORTS, CounterType_t.PACKETS_AND_BYTES) strangers;
    Trust() trust;
    Classify() classify;
    Police() police;
    Remark() remark;
    Floor() floor;
    HermodForward() forward;
    Roles() roles;

    apply {
        if (from_parser.parser_err != 0) {
            meta.frame.drop = 1;
        } else {
            classify.apply(hdr, meta.frame);
            if (meta.frame.is_ip == 1) {
                by_dscp.count(meta.frame.dscp, FCS_BYTES);
            }
            trust.apply(meta.frame, intrinsic.ingress_port);
            if (meta.frame.demoted == 1) {
                strangers.count(intrinsic.ingress_port, FCS_BYTES);
            } else {
                police.apply(meta.frame, intrinsic.ingress_port);
            }
            if (meta.frame.demoted == 1) {
                remark.apply(hdr, meta.frame);
            } else {
                roles.apply(meta.frame);
            }
            forward.apply(hdr, meta.frame);
            if (meta.frame.queue != 0 && meta.frame.group == 0 && meta.frame.drop == 0) {
                floor.apply(meta.frame);
            }
        }
        to_tm.qid = (QueueId_t)meta.frame.queue;
        if (meta.frame.drop == 1) {
            to_deparser.drop_ctl = 1;
        } else if (meta.frame.group != 0) {
            to_tm.mcast_grp_a = meta.frame.group;
        } else {
            to_tm.ucast_egress_port = meta.frame.port;
        }
        meta.bridge.setValid();
        meta.bridge.reserved = 0;
        meta.bridge.more_reserved = 0;
        meta.bridge.still_more_reserved = 0;
        meta.bridge.closes = meta.frame.closes;
        meta.bridge.opens = meta.frame.opens;
        meta.bridge.held = meta.frame.held;
        meta.bridge.came_from = intrinsic.ingress_port;
        meta.bridge.queue = meta.frame.queue;
        meta.bridge.profile = meta.frame.profile;
    }
}

control HermodIngressDeparser(packet_out packet,
                              inout headers_t hdr,
                              in pipe_metadata_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        packet.emit(meta.bridge);
        packet.emit(hdr);
    }
}

parser HermodEgressParser(packet_in packet,
                          out headers_t hdr,
                          out pipe_metadata_t meta,
                          out egress_intrinsic_metadata_t intrinsic) {
    FrameParser() frame;

    state start {
        packet.extract(intrinsic);
        packet.extract(meta.bridge);
        meta.frame = UNKNOWN;
        frame.apply(packet, hdr);
        transition accept;
    }
}

control HermodEgress(inout headers_t hdr,
                     inout pipe_metadata_t meta,
                     in egress_intrinsic_metadata_t intrinsic,
                     in egress_intrinsic_metadata_from_parser_t from_parser,
                     inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                     inout egress_intrinsic_metadata_for_output_port_t to_port) {
    // Index: (port << 3) + queue. Bytes as they leave.
    Counter<bit<64>, bit<12>>(PORT_QUEUES, CounterType_t.PACKETS_AND_BYTES) sent;
    Counter<bit<64>, bit<12>>(PORT_QUEUES, CounterType_t.PACKETS) marked;
    Counter<bit<64>, bit<12>>(PORT_QUEUES, CounterType_t.PACKETS_AND_BYTES) dropped;
    HermodCongestion() congestion;
    Gate() gate;

    apply {
        if (intrinsic.egress_port == meta.bridge.came_from) {
            to_deparser.drop_ctl = 1;  // nothing leaves where it came in
        } else {
            meta.frame.queue = meta.bridge.queue;
            meta.frame.profile = meta.bridge.profile;
            meta.frame.closes = meta.bridge.closes;
            meta.frame.opens = meta.bridge.opens;
            meta.frame.held = meta.bridge.held;
            bit<12> index = intrinsic.egress_port ++ meta.frame.queue;
            bit<1> mark;
            meta.frame.depth = intrinsic.enq_qdepth;
            congestion.apply(hdr, meta.frame, mark);
            bit<32> now = from_parser.global_tstamp[47:16];
            gate.apply(meta.frame, now, meta.bridge.came_from, intrinsic.egress_port);
            if (meta.frame.drop == 1) {
                dropped.count(index, sizeInBytes(meta.bridge) + FCS_BYTES);
                to_deparser.drop_ctl = 1;
            } else {
                sent.count(index, sizeInBytes(meta.bridge) + FCS_BYTES);
                if (mark == 1) {
                    marked.count(index);
                }
            }
        }
    }
}

control HermodEgressDeparser(packet_out packet,
                             inout headers_t hdr,
                             in pipe_metadata_t meta,
                             in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(
    HermodParser(),
    HermodIngress(),
    HermodIngressDeparser(),
    HermodEgressParser(),
    HermodEgress(),
    HermodEgressDeparser()
) pipe;

Switch(pipe) main;
