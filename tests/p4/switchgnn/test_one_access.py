# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.lint.one_access import violations

pytestmark = pytest.mark.p4

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<32> b; }
struct headers { h_t h; }
struct meta_t { bit<32> i; }
parser P(packet_in p, out headers hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control C(inout headers hdr, inout meta_t m) { apply { } }
control Inner(inout headers hdr, inout meta_t m)(bit<32> size) {
    register<bit<32>>(size) r;
    action twice() { r.read(hdr.h.b, m.i); r.write(m.i, hdr.h.b); }
    table t { key = { hdr.h.a: exact; } actions = { twice; NoAction; } }
    apply { INNER }
}
control I(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    Inner(8) one;
    Inner(8) two;
    apply { OUTER }
}
control E(inout headers hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
"""
READ = "r.read(hdr.h.b, m.i);"
WRITE = "r.write(m.i, hdr.h.b);"


@pytest.mark.parametrize(
    ("inner", "outer", "registers"),
    [
        (READ + WRITE, "one.apply(hdr, m); two.apply(hdr, m);", []),
        (f"if (m.i == 0) {{ {READ} }} else {{ {READ} {WRITE} }}", "one.apply(hdr, m);", []),
        ("t.apply();", "one.apply(hdr, m);", []),
        (READ + "r.write(m.i + 1, hdr.h.b);", "one.apply(hdr, m);", ["I.one.r"]),
        (WRITE + READ, "one.apply(hdr, m);", ["I.one.r"]),
        (READ + READ, "two.apply(hdr, m);", ["I.two.r"]),
        (READ, "one.apply(hdr, m); if (m.i == 0) { one.apply(hdr, m); }", ["I.one.r"]),
        (f"if (m.i == 0) {{ {WRITE} }} t.apply();", "one.apply(hdr, m);", ["I.one.r"]),
        (READ, "", []),
    ],
)
def test_the_check_sees_what_it_should(inner: str, outer: str, registers: list[str]) -> None:
    lines = violations(load_text(PROGRAM.replace("INNER", inner).replace("OUTER", outer), "test.p4"))
    assert [line.split()[1].rstrip(":") for line in lines] == registers


def test_no_pass_of_switchgnn_accesses_a_register_twice(programs) -> None:
    assert violations(programs["v1model"]) == violations(programs["replicated_v1model"]) == []
    registers = [e.name for e in programs["v1model"].externs if e.extern == "register"]
    assert len(registers) == 41  # round, done, ndone, seen, joined, state, marked, 32 lanes, open, peak


def test_the_strawman_does(programs) -> None:
    assert any("SwitchGnnIngress.strawman.pool.released" in line for line in violations(programs["strawman_v1model"]))
