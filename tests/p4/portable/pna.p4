/* SPDX-License-Identifier: Apache-2.0 */
/* A PNA program: a cache of flows that it fills itself, mirrors, and passes that the packet asks for. */
#include <core.p4>
#include <pna.p4>

header order_t {
    bit<8> kind;
    bit<8> flow;
    bit<8> profile;
    bit<8> passes;
    bit<32> port;
}

header note_t {
    bit<8> direction;
    bit<8> pass;
    bit<32> flow;
}

struct headers_t {
    order_t order;
    note_t note;
}

struct meta_t {
    bit<8> hit;
}

struct forward_t {
    bit<32> port;
}

parser Parse(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t istd) {
    state start {
        p.extract(h.order);
        transition select((bit<8>)(PassNumberUint_t)istd.pass) {
            0: accept;
            default: noted;
        }
    }
    state noted {
        p.extract(h.note);
        transition accept;
    }
}

control Pre(in headers_t h, inout meta_t m, in pna_pre_input_metadata_t istd, inout pna_pre_output_metadata_t ostd) {
    apply { ostd.decrypt = h.order.kind == 0xee; }
}

control Main(inout headers_t h,
             inout meta_t m,
             in pna_main_input_metadata_t istd,
             inout pna_main_output_metadata_t ostd) {
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS) hits;
    action forward(bit<32> port) {
        m.hit = 1;
        hits.count();
        send_to_port((PortId_t)port);
        if (h.order.kind == 2) { restart_expire_timer(); }
        if (h.order.kind == 3) { set_entry_expire_time((ExpireTimeProfileId_t)h.order.profile); }
    }
    action learn() {
        bool added = false;
        if (h.order.kind == 1) {
            added = add_entry(action_name = "forward",
                              action_params = (forward_t){port = h.order.port},
                              expire_time_profile_id = (ExpireTimeProfileId_t)h.order.profile);
        }
        if (added) { send_to_port((PortId_t)32w1); } else { drop_packet(); }
    }
    table flows {
        key = { SelectByDirection(istd.direction, h.order.flow, h.order.flow ^ 8w1) : exact @name("flow"); }
        actions = { forward; learn; }
        const default_action = learn;
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        pna_direct_counter = hits;
        size = 2;
    }
    apply {
        h.note = { istd.direction == PNA_Direction_t.HOST_TO_NET ? 8w1 : 8w0, (bit<8>)(PassNumberUint_t)istd.pass, 0 };
        flows.apply();
        if (h.order.kind == 4) { mirror_packet((MirrorSlotId_t)8w1, (MirrorSessionId_t)16w5); }
        if (h.order.passes != 0) {
            h.order.passes = h.order.passes - 1;
            recirculate();
        }
        if (m.hit == 0) { h.note.flow = (bit<32>)(FlowIdUint_t)allocate_flow_id(); }
        ostd.class_of_service = (ClassOfService_t)h.order.profile;
    }
}

control Deparse(packet_out p, in headers_t h, in meta_t m, in pna_main_output_metadata_t ostd) {
    apply { p.emit(h); }
}

PNA_NIC(Parse(), Pre(), Main(), Deparse()) main;
