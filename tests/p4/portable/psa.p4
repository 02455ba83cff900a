/* SPDX-License-Identifier: Apache-2.0 */
/* A PSA program in which the packet says what happens to it, and every hand-over of metadata shows in the packet. */
#include <core.p4>
#include <bmv2/psa.p4>

const bit<8> DROP = 0x01;
const bit<8> RESUBMIT = 0x02;
const bit<8> CLONE = 0x04;
const bit<8> EGRESS_DROP = 0x08;
const bit<8> EGRESS_CLONE = 0x10;

header order_t {
    bit<8> flags;
    bit<8> cos;
    bit<16> port;
    bit<16> group;
    bit<16> session;
}

header note_t {
    bit<8> path;
    bit<8> brought;
    bit<32> port;
    bit<16> instance;
    bit<8> cos;
    bit<8> fault;
}

struct headers_t {
    order_t order;
    note_t ingress;
    note_t egress;
}

struct seen_t {
    bit<8> mark;
}

struct meta_t {
    bit<8> brought;
}

parser IngressParse(packet_in p,
                    out headers_t h,
                    inout meta_t m,
                    in psa_ingress_parser_input_metadata_t istd,
                    in seen_t resubmit_meta,
                    in seen_t recirculate_meta) {
    state start {
        p.extract(h.order);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RESUBMIT: again;
            PSA_PacketPath_t.RECIRCULATE: around;
            default: accept;
        }
    }
    state again {
        m.brought = resubmit_meta.mark;
        transition accept;
    }
    state around {
        p.extract(h.ingress);
        p.extract(h.egress);
        m.brought = recirculate_meta.mark;
        transition accept;
    }
}

bit<8> number(in PSA_PacketPath_t path) {
    if (path == PSA_PacketPath_t.NORMAL) { return 0; }
    if (path == PSA_PacketPath_t.NORMAL_UNICAST) { return 1; }
    if (path == PSA_PacketPath_t.NORMAL_MULTICAST) { return 2; }
    if (path == PSA_PacketPath_t.CLONE_I2E) { return 3; }
    if (path == PSA_PacketPath_t.CLONE_E2E) { return 4; }
    if (path == PSA_PacketPath_t.RESUBMIT) { return 5; }
    return 6;
}

control In(inout headers_t h,
           inout meta_t m,
           in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    bit<8> path;
    apply {
        path = number(istd.packet_path);
        h.egress.setInvalid();
        h.ingress = { path, m.brought, (bit<32>)(PortIdUint_t)istd.ingress_port, 0, 0, 0 };
        if (istd.parser_error == error.PacketTooShort) { h.ingress.fault = 1; }
        send_to_port(ostd, (PortId_t)(PortIdUint_t)h.order.port);
        if (path == 6) {
            send_to_port(ostd, (PortId_t)32w9);
        } else if (h.order.port == 0xfffa) {
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        } else if (h.order.port == 0xfffd) {
            send_to_port(ostd, PSA_PORT_CPU);
        }
        ostd.class_of_service = (ClassOfService_t)h.order.cos;
        if (h.order.group != 0) { multicast(ostd, (MulticastGroup_t)(MulticastGroupUint_t)h.order.group); }
        if (h.order.flags & CLONE != 0) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t)h.order.session;
        }
        ostd.resubmit = h.order.flags & RESUBMIT != 0 && path != 5;
        if (h.order.flags & DROP != 0) { ingress_drop(ostd); }
    }
}

control InDeparse(packet_out p,
                  out seen_t clone_i2e_meta,
                  out seen_t resubmit_meta,
                  out seen_t normal_meta,
                  inout headers_t h,
                  in meta_t m,
                  in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_clone_i2e(istd)) { clone_i2e_meta.mark = 0xc1; }
        if (psa_resubmit(istd)) { resubmit_meta.mark = 0xae; }
        if (psa_normal(istd)) { normal_meta.mark = 0x10; }
        p.emit(h);
    }
}

parser EgressParse(packet_in p,
                   out headers_t h,
                   inout meta_t m,
                   in psa_egress_parser_input_metadata_t istd,
                   in seen_t normal_meta,
                   in seen_t clone_i2e_meta,
                   in seen_t clone_e2e_meta) {
    state start {
        p.extract(h.order);
        m.brought = normal_meta.mark | clone_i2e_meta.mark | clone_e2e_meta.mark;
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: accept;
            PSA_PacketPath_t.CLONE_E2E: both;
            default: ingress;
        }
    }
    state ingress {
        p.extract(h.ingress);
        transition accept;
    }
    state both {
        p.extract(h.ingress);
        p.extract(h.egress);
        transition accept;
    }
}

control Out(inout headers_t h,
            inout meta_t m,
            in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply {
        h.egress = {
            number(istd.packet_path),
            m.brought,
            (bit<32>)(PortIdUint_t)istd.egress_port,
            (EgressInstanceUint_t)istd.instance,
            (ClassOfServiceUint_t)istd.class_of_service,
            0
        };
        if (istd.parser_error == error.PacketTooShort) { h.egress.fault = 1; }
        if (h.order.flags & EGRESS_DROP != 0) { egress_drop(ostd); }
        if (h.order.flags & EGRESS_CLONE != 0 && istd.packet_path != PSA_PacketPath_t.CLONE_E2E) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t)h.order.session;
        }
    }
}

control OutDeparse(packet_out p,
                   out seen_t clone_e2e_meta,
                   out seen_t recirculate_meta,
                   inout headers_t h,
                   in meta_t m,
                   in psa_egress_output_metadata_t istd,
                   in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_clone_e2e(istd)) { clone_e2e_meta.mark = 0xce; }
        if (psa_recirculate(istd, edstd)) { recirculate_meta.mark = 0x4c; }
        p.emit(h);
    }
}

IngressPipeline(IngressParse(), In(), InDeparse()) ip;
EgressPipeline(EgressParse(), Out(), OutDeparse()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
