/* SPDX-License-Identifier: Apache-2.0 */
// Hermod (Wan, 2025, chapter 5) for v1model: a switch that serves each DSCP in the queue that the plan gives it.
// It needs strict-priority queues: offramp switch run --priority-queues 8, simple_switch -- --priority-queues 8. With
// -D ONE_QUEUE it runs where there are none: simple_switch_grpc drops what names another queue than its one.
#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "admission.p4"
#include "departure.p4"
#include "egress.p4"

parser HermodParser(packet_in packet,
                    out headers_t hdr,
                    inout hermod_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    FrameParser() frame;

    state start {
        frame.apply(packet, hdr);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout hermod_metadata_t meta) {
    apply { }
}

control HermodIngress(inout headers_t hdr,
                      inout hermod_metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    @name(".HermodIngress") HermodAdmission() admission;
    @name(".HermodIngress") HermodDeparture() departure;

    apply {
        if (standard_metadata.parser_error != error.NoError) {
            meta.drop = 1;
        } else {
            admission.apply(hdr, meta, standard_metadata.ingress_port, false);
        }
        departure.apply(hdr, meta, standard_metadata);
#ifndef ONE_QUEUE
        standard_metadata.priority = meta.queue;
#endif
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
