/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of table, array and hash that bmv2's run-time services name. */
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<32> a;
    bit<12> b;
    bit<4> pad;
    bit<16> hash16;
    bit<32> hash32;
}

struct headers {
    h_t h;
}

struct meta {
    bit<2> colour;
}

parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.h);
        transition accept;
    }
}

control V(inout headers h, inout meta m) {
    apply { }
}

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action_profile(8) hops;
    action_selector(HashAlgorithm.crc16, 32w8, 32w8) ways;
    direct_counter(CounterType.packets) seen;
    direct_meter<bit<2>>(MeterType.packets) rate;

    action to(bit<9> port) {
        s.egress_spec = port;
    }
    action metered() {
        rate.read(m.colour);
    }

    table keyless {
        actions = { to; NoAction; }
    }
    table small {
        key = { h.h.a : exact; }
        actions = { to; NoAction; }
        counters = seen;
        size = 2;
    }
    table routes {
        key = { h.h.a : lpm; }
        actions = { metered; NoAction; }
        meters = rate;
    }
    table ranges {
        key = { h.h.b : range; h.h.a : ternary; }
        actions = { to; NoAction; }
        support_timeout = true;
    }
    table fixed {
        key = { h.h.a : exact; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        const entries = {
            9 : to(1);
        }
    }
    table member {
        key = { h.h.a : exact; }
        actions = { to; NoAction; }
        implementation = hops;
    }
    table group {
        key = { h.h.a : exact; h.h.b : selector; }
        actions = { to; NoAction; }
        implementation = ways;
    }

    apply {
        hash(h.h.hash16, HashAlgorithm.crc16_custom, 16w0, { h.h.a }, 32w65536);
        hash(h.h.hash32, HashAlgorithm.crc32_custom, 32w0, { h.h.a }, 64w4294967296);
        digest<bit<32>>(1, h.h.a);
        s.egress_spec = s.ingress_port;
        keyless.apply();
        small.apply();
        routes.apply();
        ranges.apply();
        fixed.apply();
        member.apply();
        group.apply();
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply { }
}

control D(packet_out b, in headers h) {
    apply {
        b.emit(h.h);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
