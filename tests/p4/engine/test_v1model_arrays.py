# SPDX-License-Identifier: Apache-2.0
"""Registers, counters and meters of v1model in the Python engine: cells against numbers counted by hand."""

from __future__ import annotations

import pytest

from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.state import ActionData, Exact, MeterCell, TableEntry
from p4_programs import program

pytestmark = pytest.mark.p4
FEW = ((0, 1), (0, 2))
"""One unit is green, a second one yellow, all others are red."""


def switch(body: str, local: str, top: str = "") -> PlainSwitch:
    return make_switch(load_text(program("sm.egress_spec = 1;" + body, local=local, top=top), "prog.p4"), "python")


def one(s: PlainSwitch, a: int = 0, b: int = 0, c: int = 0) -> tuple[int, int, int]:
    """The fields of the packet that leaves."""
    ((_, out),) = s.process_one(0, bytes([a, b]) + c.to_bytes(2, "big"))
    return out[0], out[1], int.from_bytes(out[2:4], "big")


def test_registers_are_read_and_written_where_there_is_a_cell() -> None:
    body = "r.read(hdr.h.c, (bit<32>)hdr.h.a); r.write((bit<32>)hdr.h.a, (bit<16>)hdr.h.b);"
    s = switch(body, "register<bit<16>>(3) r;")
    assert [one(s, 2, b)[2] for b in (5, 6, 7)] == [0, 5, 6]
    one(s, 3, 9)
    one(s, 255, 9)
    assert s.registers["I.r"].values == [0, 0, 7]


def test_a_function_that_computes_a_value_runs_once_and_before_the_write() -> None:
    """It changes the index, too: the one that counts is that of before."""
    top = "bit<16> next(inout bit<8> at) { at = at + 1; return (bit<16>)at; }"
    s = switch("r.write((bit<32>)hdr.h.a, next(hdr.h.a));", "register<bit<16>>(3) r;", top)
    assert [one(s, a)[0] for a in (0, 2, 3)] == [1, 3, 4]
    assert s.registers["I.r"].values == [1, 0, 3]


def test_counters_count_packets_and_bytes() -> None:
    s = switch("c.count((bit<32>)hdr.h.a);", "counter(3, CounterType.packets_and_bytes) c;")
    for a in (2, 0, 2, 3):
        one(s, a)
    assert (s.counters["I.c"].packets, s.counters["I.c"].bytes) == ([1, 0, 2], [4, 0, 8])


@pytest.mark.each
@pytest.mark.parametrize(("units", "cost"), [("packets", 1), ("bytes", 4)])
def test_meters_mark_by_packets_or_bytes(units: str, cost: int) -> None:
    s = switch("x.execute_meter((bit<32>)hdr.h.a, hdr.h.b);", f"meter(3, MeterType.{units}) x;")
    s.meters["I.x"].cells[2].configure(tuple((rate, burst * cost) for rate, burst in FEW))
    assert [one(s, 2, 9)[1] for _ in range(4)] == [0, 1, 2, 2]
    assert one(s, 1, 9)[1] == 0
    assert one(s, 3, 9)[1] == 9, "there is no such cell, and nothing changes"
    assert list(s.meters["I.x"].cells[2].octets) == [4, 4, 8]


DIRECT = """
    direct_counter(CounterType.packets_and_bytes) c; direct_meter<bit<8>>(MeterType.packets) x;
    action run() { x.read(hdr.h.b); }
    table t { key = { hdr.h.a: exact; } actions = { run; NoAction; } counters = c; meters = x;
              default_action = NoAction; }
"""


def test_direct_counters_and_meters_belong_to_entries() -> None:
    s = switch("t.apply();", DIRECT)
    table = s.tables["I.t"]
    limited, plain = (TableEntry((Exact(a),), ActionData("I.run")) for a in (1, 2))
    for each in (limited, plain):
        table.insert(each)
    limited.meter = MeterCell()
    limited.meter.configure(FEW)
    assert [one(s, 1, 9)[1] for _ in range(4)] == [0, 1, 2, 2]
    assert [one(s, 2, 9)[1], one(s, 7, 9)[1]] == [0, 9]
    assert [(e.packets, e.bytes) for e in (limited, plain)] == [(4, 16), (1, 4)]
    assert (table.default_entry.packets, table.default_entry.bytes) == (1, 4)
