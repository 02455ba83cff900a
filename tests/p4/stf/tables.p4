// Match kinds, priorities, default actions, hit and miss, action_run, direction-bound action arguments.
#include "v1.p4"

header data_t {
    bit<32> address;
    bit<16> tag;
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    action set_a(bit<8> value) { hdr.data.a = value; }
    action set_b(bit<8> value) { hdr.data.b = value; }
    action mark_b() { hdr.data.b = 0xBB; }
    action put(inout bit<8> field, in bit<8> old, bit<8> value) { field = old + value; }
    action forward(bit<9> port) { sm.egress_spec = port; }

    table exactly {
        key = { hdr.data.tag: exact; hdr.data.isValid(): exact; }
        actions = { set_a; NoAction; }
        const default_action = NoAction();
    }
    table prefix {
        key = { hdr.data.address: lpm; }
        actions = { forward; }
        default_action = forward(2);
        size = 16;
    }
    table masked {
        key = { hdr.data.tag: ternary; hdr.data.a: ternary; }
        actions = { set_b; mark_b; }
        default_action = mark_b();
    }
    table between {
        key = { hdr.data.tag: range; hdr.data.address: optional; }
        actions = { put(hdr.data.c, hdr.data.a); }
        default_action = put(hdr.data.c, hdr.data.a, 0);
        const entries = {
            (0x0010 .. 0x0020, _): put(hdr.data.c, hdr.data.a, 1);
            (0x0018 .. 0x0030, 0x0A000001): put(hdr.data.c, hdr.data.a, 2);
            (_, 0x0A000002): put(hdr.data.c, hdr.data.a, 3);
        }
    }

    apply {
        if (exactly.apply().miss) {
            hdr.data.d = 1;
        }
        switch (masked.apply().action_run) {
            set_b: { hdr.data.d = hdr.data.d + 0x10; }
            mark_b: { hdr.data.d = hdr.data.d + 0x20; }
        }
        between.apply();
        if (prefix.apply().hit) {
            hdr.data.d = hdr.data.d + 0x40;
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
