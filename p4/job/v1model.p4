/* SPDX-License-Identifier: Apache-2.0 */
// Several systems on one switch, for v1model: SwitchGNN, all-reduce, and Hermod's classes, queues and forwarding for all
// that crosses the switch. Each system's tables, registers and counters have the names that they have in the system's own
// program, so that its control plane drives either.
//
// Hermod admits a packet first: its class, which is best effort beyond what its port may send. Then the system whose
// packet it is sums it. What a switch sends in its own name leaves in the class of the packet that it answers. A port's
// floor (Floor) counts frames only, and gates do not hold sums.
//
// Sizes are in sizes.p4 of each system. It needs queues as p4/hermod/v1model.p4 does.
#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "bridge.p4"
#include "../include/checksum.p4"
#include "../switchgnn/ingress.p4"
#include "../switchgnn/again.p4"
#include "../allreduce/ingress.p4"
#include "../hermod/admission.p4"
#include "../hermod/departure.p4"
#include "../hermod/egress.p4"

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control JobIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".HermodIngress") HermodAdmission() admission;
    @name(".HermodIngress") HermodDeparture() departure;
    @name(".SwitchGnnIngress") SwitchGnnIngress() switchgnn;
    @name(".AllReduceIngress") AllReduceIngress() allreduce;

    apply {
        bit<8> protocol = 0;
        bool broken = standard_metadata.parser_error != error.NoError;
        if (hdr.switchgnn.isValid() || hdr.allreduce.isValid() || (broken && hdr.ipv4.isValid())) {
            protocol = hdr.ipv4.protocol;
        }
        if (broken) {
            meta.hermod.drop = 1;
        } else {
            bool again = meta.switchgnn.hop != 0 || meta.switchgnn.begins != 0;
            admission.apply(hdr, meta.hermod, standard_metadata.ingress_port, again);
        }
        if (meta.hermod.drop == 1 && !broken) {
            mark_to_drop(standard_metadata);  // the packet's class is dropped: no sum has it
        } else if (protocol == IP_PROTOCOL_SWITCHGNN) {
            switchgnn.apply(hdr, meta.switchgnn, standard_metadata);
            meta.hermod.replies = 1;
        } else if (protocol == IP_PROTOCOL_ALLREDUCE) {
            allreduce.apply(hdr, meta.allreduce, standard_metadata);
            meta.hermod.replies = 1;
        } else {
            departure.apply(hdr, meta.hermod, standard_metadata);
        }
        if (meta.hermod.replies == 1) {
            meta.hermod.drop = 0;
            meta.hermod.closes = 0;
            meta.hermod.opens = 0;
            meta.hermod.held = 0;
        }
#ifndef ONE_QUEUE
        standard_metadata.priority = meta.hermod.queue;
#endif
    }
}

control JobEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".Again") Again() again;
    @name(".HermodEgress") HermodEgress() queues;

    apply {
        if (hdr.switchgnn.isValid()) {
            again.apply(hdr, meta.switchgnn, standard_metadata);
        }
        if (standard_metadata.egress_port != RECIRCULATION_PORT) {
            queues.apply(hdr, meta.hermod, standard_metadata);
        }
    }
}

control JobChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        UPDATE_IPV4_CHECKSUM(hdr.allreduce.isValid() || meta.switchgnn.reply == 1 || meta.switchgnn.group != 0)
    }
}

V1Switch(
    JobParser(),
    NoChecksum(),
    JobIngress(),
    JobEgress(),
    JobChecksum(),
    JobDeparser()
) main;
