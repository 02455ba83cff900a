/* SPDX-License-Identifier: Apache-2.0 */
/* What a control plane sees of a PSA program: translated ports, direct objects, a selector, a digest, packet I/O. */
#include <core.p4>
#include <psa.p4>

@controller_header("packet_in")
header in_t {
    PortIdInHeader_t port;
}

@controller_header("packet_out")
header out_t {
    PortIdInHeader_t port;
}

header mac_t {
    bit<48> dst;
    bit<48> src;
    bit<16> kind;
}

struct headers_t {
    in_t to_cpu;
    out_t from_cpu;
    mac_t mac;
}

struct none_t {
}

struct heard_t {
    bit<48> mac;
    PortId_t port;
}

struct meta_t {
    bool hit;
    PSA_MeterColor_t colour;
}

parser IngressParse(packet_in p,
                    out headers_t h,
                    inout meta_t m,
                    in psa_ingress_parser_input_metadata_t istd,
                    in none_t resubmit_meta,
                    in none_t recirculate_meta) {
    state start {
        transition select(istd.ingress_port) {
            PSA_PORT_CPU: controller;
            default: mac;
        }
    }
    state controller {
        p.extract(h.from_cpu);
        transition mac;
    }
    state mac {
        p.extract(h.mac);
        transition accept;
    }
}

control In(inout headers_t h,
           inout meta_t m,
           in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    Counter<bit<32>, PortId_t>(4, PSA_CounterType_t.PACKETS) arrivals;
    Register<bit<16>, bit<8>>(4, 7) kinds;
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 16) uplinks;
    action forward(PortId_t port) {
        hits.count();
        m.colour = rate.execute();
        send_to_port(ostd, port);
        if (m.colour == PSA_MeterColor_t.RED) { ingress_drop(ostd); }
    }
    action to_controller() {
        hits.count();
        h.to_cpu.setValid();
        h.to_cpu.port = psa_PortId_int_to_header(istd.ingress_port);
        send_to_port(ostd, PSA_PORT_CPU);
    }
    action flood(MulticastGroup_t group) {
        multicast(ostd, group);
    }
    action uplink(PortId_t port) {
        send_to_port(ostd, port);
    }
    table known {
        key = { h.mac.dst : exact; }
        actions = { forward; flood; @defaultonly to_controller; }
        default_action = to_controller;
        psa_direct_counter = hits;
        psa_direct_meter = rate;
    }
    table balanced {
        key = { istd.ingress_port : ternary; h.mac.src : selector; }
        actions = { uplink; NoAction; }
        psa_implementation = uplinks;
    }
    apply {
        arrivals.count(istd.ingress_port);
        kinds.write(1, kinds.read(0) + 1);
        if (h.from_cpu.isValid()) {
            send_to_port(ostd, psa_PortId_header_to_int(h.from_cpu.port));
            h.from_cpu.setInvalid();
        } else if (h.mac.kind == 0xffff) {
            balanced.apply();
        } else {
            known.apply();
        }
    }
}

control InDeparse(packet_out p,
                  out none_t clone_i2e_meta,
                  out none_t resubmit_meta,
                  out none_t normal_meta,
                  inout headers_t h,
                  in meta_t m,
                  in psa_ingress_output_metadata_t istd) {
    Digest<heard_t>() heard;
    apply {
        if (h.to_cpu.isValid()) { heard.pack({ h.mac.src, (PortId_t)(PortIdUint_t)(PortIdInHeaderUint_t)h.to_cpu.port }); }
        p.emit(h);
    }
}

parser EgressParse(packet_in p,
                   out headers_t h,
                   inout meta_t m,
                   in psa_egress_parser_input_metadata_t istd,
                   in none_t normal_meta,
                   in none_t clone_i2e_meta,
                   in none_t clone_e2e_meta) {
    state start { transition accept; }
}

control Out(inout headers_t h,
            inout meta_t m,
            in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply { }
}

control OutDeparse(packet_out p,
                   out none_t clone_e2e_meta,
                   out none_t recirculate_meta,
                   inout headers_t h,
                   in meta_t m,
                   in psa_egress_output_metadata_t istd,
                   in psa_egress_deparser_input_metadata_t edstd) {
    apply { }
}

IngressPipeline(IngressParse(), In(), InDeparse()) ip;
EgressPipeline(EgressParse(), Out(), OutDeparse()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
