# SPDX-License-Identifier: Apache-2.0
"""Rules for table entries that the other programs do not reach (sections 9.1 and 9.1.1)."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from p4rt_lab import INSERT, MODIFY, Lab

INVALID = "INVALID_ARGUMENT"
_M = v1.FieldMatch
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action to(bit<9> port) { std.egress_spec = port; }
    table keyless { actions = { to; NoAction; } default_action = NoAction(); }
    table mixed {
        key = { hdr.h.a : range; hdr.h.b : optional; }
        actions = { to; NoAction; }
        default_action = NoAction();
    }
    apply { keyless.apply(); mixed.apply(); }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.fixture(params=["python", "native"])
def small(request, tmp_path):
    path = tmp_path / "rules.p4"
    path.write_text(PROGRAM)
    opened = Lab(request.param, path)
    yield opened
    opened.close()


def test_a_table_without_key_has_only_its_default_entry(small):
    entity = small.session.table_entry("keyless", {}, "to", {"port": 2})
    message = "table I.keyless has no key, so it has no entries but the default one"
    assert small.refusal((INSERT, entity)) == (INVALID, message)
    small.write((MODIFY, small.session.make.default_entry("keyless", "to", {"port": 2})))
    assert small.packets(1, b"\1\2") == [(2, b"\1\2")]


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (_M(field_id=1, range=_M.Range(low=b"\5", high=b"\4")), "range 5..4 is empty"),
        (_M(field_id=1, range=_M.Range(low=b"\0", high=b"\xff")), "the range holds every value"),
        (_M(field_id=1, range=_M.Range(low=b"\1\0", high=b"\xff\xff")), "0x100 does not fit 8 bits"),
        (_M(field_id=2, optional=_M.Optional()), "an empty byte string is not a value"),
        (_M(field_id=2, exact=_M.Exact(value=b"\1")), "expected a match of kind optional, got exact"),
    ],
)
def test_range_and_optional_rules(small, match, message):
    entity = small.session.table_entry("mixed", {}, "to", {"port": 2}, priority=1)
    entity.table_entry.match.append(match)
    code, text = small.refusal((INSERT, entity))
    assert code == INVALID
    assert message in text
    assert small.session.read_table("mixed") == []


def test_longer_bytestrings_are_taken_and_the_shortest_are_sent(small):
    entity = small.session.table_entry("mixed", {"hdr.h.a": (3, 9), "hdr.h.b": 7}, "to", {"port": 2}, priority=1)
    padded = v1.Entity()
    padded.CopyFrom(entity)
    padded.table_entry.match[0].range.low = b"\0\0\3"
    padded.table_entry.match[1].optional.value = b"\0\7"
    padded.table_entry.action.action.params[0].value = b"\0\0\0\2"
    small.write((INSERT, padded))
    assert small.session.read_table("mixed") == [entity.table_entry]
    assert small.packets(1, b"\3\7", b"\2\7") == [(2, b"\3\7"), (0, b"\2\7")]


def test_modify_without_action_leaves_it(lab):
    entity = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": 2})
    entity.table_entry.metadata = b"tag"
    lab.write((INSERT, entity))
    key = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)})
    key.table_entry.counter_data.packet_count = 5
    lab.write((MODIFY, key))
    assert lab.session.read_table("flows") == [entity.table_entry]
    assert lab.packets(1, ethernet()) == [(2, ethernet())]
