# SPDX-License-Identifier: Apache-2.0
"""Calls of externs in bmv2's JSON: lists of fields, constants with their widths, and what it refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp_p4 import ir
from offramp_p4.frontend import load_text
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import BOOL, VOID, Bits, Varbit
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.bmv2.write.externs import ExternWriter, packed_width

pytestmark = pytest.mark.p4

_PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<16> b; }
struct headers { h_t h; }
struct metadata { bit<16> sum; }
struct first_t { bit<8> kind; bit<16> b; }
struct second_t { bit<16> b; }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply {} }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    apply {
        digest<first_t>(1, { hdr.h.kind, hdr.h.b });
        digest<second_t>(1, { hdr.h.b });
        hash(meta.sum, HashAlgorithm.crc16, 16w0, { 8w0xfe, hdr.h.b, 12w0x0a5 }, 32w65536);
        assert(hdr.h.kind == 8w7);
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return to_json(load_text(_PROGRAM))


def _primitives(document: dict[str, Any], name: str) -> list[Any]:
    return [p for action in document["actions"] for p in action["primitives"] if p["op"] == name]


def test_digests_number_their_lists_from_1(document: dict[str, Any]) -> None:
    lists = document["learn_lists"]
    assert [(each["id"], each["name"], len(each["elements"])) for each in lists] == [
        (1, "first_t", 2),
        (2, "second_t", 1),
    ]
    numbers = [int(p["parameters"][1]["value"], 16) for p in _primitives(document, "generate_digest")]
    assert numbers == [1, 2]


def test_constants_of_a_calculation_have_their_value_and_width(document: dict[str, Any]) -> None:
    [inputs] = [each["input"] for each in document["calculations"]]
    constants = [(int(each["value"], 16), each["bitwidth"]) for each in inputs if each["type"] == "hexstr"]
    assert constants == [(0xFE, 8), (0xA5, 12)]
    assert len(inputs) == 3


def test_an_assertion_takes_its_condition(document: dict[str, Any]) -> None:
    [primitive] = _primitives(document, "assert")
    [parameter] = primitive["parameters"]
    text = str(parameter)
    assert "'b2d'" in text
    assert "'=='" in text
    assert "['h', 'kind']" in text
    assert int(text.split("'hexstr', 'value': '")[1].split("'", maxsplit=1)[0], 16) == 7


@pytest.mark.parametrize(
    ("extern", "method", "text"),
    [("", "shuffle", "extern shuffle in bmv2's JSON"), ("Deck", "shuffle", "extern Deck.shuffle")],
)
def test_an_unknown_extern_is_refused_by_its_name(extern: str, method: str, text: str) -> None:
    call = SimpleNamespace(extern=extern, method=method, pos=Pos("x.p4", 1, 1))
    with pytest.raises(Unsupported) as refusal:
        ExternWriter(cast("Any", None)).call(cast("Any", None), cast("ir.ExternCall", call))
    assert text in str(refusal.value)
    assert ("Deck" in str(refusal.value)) is bool(extern)


def test_widths_of_packed_data() -> None:
    assert [packed_width(t) for t in (Bits(9), Varbit(24), BOOL, VOID)] == [9, 24, 1, 0]
