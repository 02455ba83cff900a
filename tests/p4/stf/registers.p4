// Registers and counters: what one packet leaves the next finds; an index out of range changes nothing.
#include "v1.p4"

header data_t {
    bit<8> op;
    bit<8> index;
    bit<16> value;
    bit<16> r;
}
struct headers_t { data_t data; }
struct metadata_t { }

PARSE_ONE(data)
NO_VERIFY
INGRESS {
    register<bit<16>>(8) cells;
    register<bit<3>>(2) narrow;
    counter(4, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets_and_bytes) hits;
    action count() { hits.count(); }
    table by_op {
        key = { hdr.data.op: exact; }
        actions = { count; NoAction; }
        counters = hits;
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = 1;
        by_op.apply();
        seen.count((bit<32>)hdr.data.index);
        if (hdr.data.op == 0) {
            cells.read(hdr.data.r, (bit<32>)hdr.data.index);
        } else if (hdr.data.op == 1) {
            cells.write((bit<32>)hdr.data.index, hdr.data.value);
        } else {
            bit<3> small;
            narrow.read(small, 1);
            small = small + 3;
            narrow.write(1, small);
            hdr.data.r = (bit<16>)small;
        }
    }
}
NO_EGRESS
NO_COMPUTE
EMIT_ALL
MAIN
