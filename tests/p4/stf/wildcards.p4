// SPDX-License-Identifier: Apache-2.0
// Entries that leave whole keys open, as p4testgen writes them.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> a; bit<16> b; bit<8> found; }
struct headers { data_t data; }
struct metadata { }

parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start { p.extract(hdr.data); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    action set(bit<8> value) { hdr.data.found = value; }
    table open {
        key = { hdr.data.a: optional; hdr.data.b: range; }
        actions = { set; }
        default_action = set(0);
    }
    apply { open.apply(); s.egress_spec = 1; }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
