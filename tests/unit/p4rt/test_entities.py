# SPDX-License-Identifier: Apache-2.0
"""Entities from names: matches of each kind, actions, and the messages for what does not fit."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_base.p4rt.entities import EntityFactory, register_value
from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.schema import v1

INFO = """
tables {
  preamble { id: 33554433 name: "In.t" alias: "t" }
  match_fields { id: 1 name: "e" bitwidth: 16 match_type: EXACT }
  match_fields { id: 2 name: "l" bitwidth: 32 match_type: LPM }
  match_fields { id: 3 name: "n" bitwidth: 8 match_type: TERNARY }
  match_fields { id: 4 name: "r" bitwidth: 8 match_type: RANGE }
  match_fields { id: 5 name: "o" bitwidth: 8 match_type: OPTIONAL }
  match_fields { id: 6 name: "x" bitwidth: 8 other_match_type: "fuzzy" }
}
actions {
  preamble { id: 16777217 name: "In.go" alias: "go" }
  params { id: 1 name: "port" bitwidth: 9 }
  params { id: 4 name: "tag" bitwidth: 48 }
}
registers { preamble { id: 369098753 name: "In.r" alias: "r" } type_spec { bitstring { bit { bitwidth: 4 } } } size: 8 }
registers { preamble { id: 369098754 name: "In.s" alias: "s" } type_spec { struct { name: "pair" } } size: 8 }
controller_packet_metadata {
  preamble { id: 67108865 name: "packet_out" alias: "packet_out" }
  metadata { id: 1 name: "port" bitwidth: 9 }
}
"""


@pytest.fixture
def make():
    return EntityFactory(P4InfoIndex(p4info.parse(INFO)))


def matches(entity):
    return {m.field_id: m for m in entity.table_entry.match}


def test_each_match_kind(make):
    given = {"e": 0x1234, "l": (0x0A0000FF, 8), "n": (0xFF, 0x0F), "r": (3, 9), "o": 0}
    by_id = matches(make.table_entry("t", given, priority=2))
    assert by_id[1].exact.value == b"\x12\x34"
    assert (by_id[2].lpm.value, by_id[2].lpm.prefix_len) == (b"\x0a\0\0\0", 8)
    assert (by_id[3].ternary.value, by_id[3].ternary.mask) == (b"\x0f", b"\x0f")
    assert (by_id[4].range.low, by_id[4].range.high) == (b"\x03", b"\x09")
    assert by_id[5].optional.value == b"\0"


def test_single_numbers_are_full_matches(make):
    by_id = matches(make.table_entry("In.t", {"l": 1, "n": 2, "r": 3}))
    assert by_id[2].lpm.prefix_len == 32
    assert by_id[3].ternary.mask == b"\xff"
    assert by_id[4].range.low == by_id[4].range.high == b"\x03"


def test_dont_cares_are_left_out(make):
    assert matches(make.table_entry("t", {"l": (5, 0), "n": (9, 0), "r": (0, 255)})) == {}


def test_action_parameters_in_any_order(make):
    action = make.action("go", {"tag": 0, "port": 511})
    assert [(p.param_id, p.value) for p in action.params] == [(1, b"\x01\xff"), (4, b"\0")]


def test_deletion_needs_no_action(make):
    assert not make.table_entry("t", {"e": 1}).table_entry.HasField("action")
    assert make.default_entry("t").table_entry.is_default_action


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.table_entry("q", {}), "no table 'q' in the pipeline"),
        (lambda m: m.table_entry("In.tt", {}), "no table 'In.tt' in the pipeline; did you mean 'In.t'?"),
        (lambda m: m.table_entry("t", {"z": 1}), "In.t has no key 'z'; it has e, l, n, r, o, x"),
        (lambda m: m.table_entry("t", {"e": 1 << 16}), "In.t: key e: 65536 is outside 0..65535"),
        (lambda m: m.table_entry("t", {"e": (1, 2)}), "In.t: key e: expected one number, got (1, 2)"),
        (lambda m: m.table_entry("t", {"l": (1, 33)}), "In.t: key l: prefix length 33 is outside 0..32"),
        (lambda m: m.table_entry("t", {"n": (1, 256)}), "In.t: key n: 256 is outside 0..255"),
        (lambda m: m.table_entry("t", {"n": (256, 1)}), "In.t: key n: 256 is outside 0..255"),
        (lambda m: m.table_entry("t", {"n": (256, 0)}), "In.t: key n: 256 is outside 0..255"),
        (lambda m: m.table_entry("t", {"r": (5, 4)}), "In.t: key r: range 5..4 is empty"),
        (lambda m: m.table_entry("t", {"x": 1}), "In.t: key x: this match kind is not supported"),
        (lambda m: m.action("go", {"port": 1}), "In.go: parameter tag is missing"),
        (lambda m: m.action("go", {"port": 1, "x": 1}), "In.go has no parameter 'x'; it has port, tag"),
        (lambda m: m.action("go", {"port": 512, "tag": 0}), "In.go: parameter port: 512 is outside 0..511"),
        (lambda m: m.register("r", 0, 16), "register In.r: 16 is outside 0..15"),
        (lambda m: m.register("s", 0, 1), "register In.s: only registers of bit<W> and bool are supported"),
        (lambda m: m.packet_metadata("packet_out", {}), "packet_out: metadata port is missing"),
        (
            lambda m: m.packet_metadata("packet_in", {"a": 1}),
            "the pipeline has no controller header 'packet_in' to carry metadata",
        ),
    ],
)
def test_golden_errors(make, call, message):
    with pytest.raises(OfframpError) as failure:
        call(make)
    assert str(failure.value) == message


def test_register_data_round_trip(make):
    entry = make.register("r", 3, 7).register_entry
    assert (entry.index.index, register_value(entry.data, "r")) == (3, 7)
    assert not make.register("r").register_entry.HasField("index")
    with pytest.raises(OfframpError, match="a cell of kind struct is not supported"):
        register_value(v1.P4Data(struct=v1.P4StructLike()), "r")


def test_p4info_is_read_as_text_and_binary(tmp_path):
    info = p4info.parse(INFO)
    assert p4info.parse(info.SerializeToString()) == info
    assert p4info.parse(INFO.encode()) == info
    file = tmp_path / "p.txtpb"
    file.write_text(INFO)
    assert p4info.load(file) == info


def test_bad_p4info_is_named(tmp_path):
    with pytest.raises(OfframpError, match=r"P4Info: line 1:\d+ : .*expected text protobuf"):
        p4info.parse("tables { nonsense: 1 }")
    with pytest.raises(OfframpError, match="neither binary nor text protobuf"):
        p4info.parse(b"\xff\xff\xff")
    with pytest.raises(OfframpError, match=r"none.txtpb: No such file or directory"):
        p4info.load(tmp_path / "none.txtpb")
