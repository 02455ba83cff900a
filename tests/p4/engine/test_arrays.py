# SPDX-License-Identifier: Apache-2.0
"""Counters and meters of TNA in the Python engine: cells, entries and colours against numbers counted by hand."""

from __future__ import annotations

import re

import pytest

from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData, Exact, MeterCell, TableEntry
from tna_programs import packet, tna

pytestmark = pytest.mark.p4
FORWARD = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"
FRAME, CHECK = 8, 4
"""Bytes of a packet, and of the check sequence that TNA counts with it."""
KEYED = "table t {{ key = {{ hdr.h.a: exact; }} actions = {{ run; }} default_action = run; {property} = x; }}"
FEW = ((0, 1), (0, 2))
"""One unit is green, a second one yellow, all others are red."""


def switch(body: str, local: str) -> PlainSwitch:
    return make_switch(load_text(tna(FORWARD + body, local=local), "prog.p4"), "python")


def colour(s: PlainSwitch, a: int, b: int = 0) -> int:
    """The byte that a program has set to a colour."""
    ((_, out),) = s.process_one(0, packet(a=a, b=b))
    return out[1]


def test_counters_count_packets_and_bytes_of_their_cell() -> None:
    s = switch("x.count(hdr.h.a); y.count(hdr.h.a, 5);", "".join(f"Counter<bit<32>, bit<8>>(3, "
               f"CounterType_t.PACKETS_AND_BYTES) {name};" for name in "xy"))  # fmt: skip
    for a in (2, 0, 2, 3, 255):  # the last two have no cell
        colour(s, a)
    whole = FRAME + CHECK
    assert [s.counters[f"pipe.I.{name}"].packets for name in "xy"] == [[1, 0, 2]] * 2
    assert s.counters["pipe.I.x"].bytes == [whole, 0, 2 * whole]
    assert s.counters["pipe.I.y"].bytes == [whole - 5, 0, 2 * (whole - 5)]


def test_direct_counters_count_for_entries_alone() -> None:
    s = switch(
        "t.apply();",
        "DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) x; action run() { x.count(); }"
        + KEYED.format(property="counters"),
    )
    table = s.tables["pipe.I.t"]
    for a in (1, 2):
        table.insert(TableEntry((Exact(a),), ActionData("I.run")))
    for a in (1, 1, 3):
        colour(s, a)
    assert [(e.packets, e.bytes) for e in table.entries] == [(2, 2 * (FRAME + CHECK)), (0, 0)]


@pytest.mark.parametrize(("units", "cost"), [("PACKETS", 1), ("BYTES", FRAME + CHECK)])
def test_meters_mark_by_packets_or_bytes_with_the_colours_of_the_program(units: str, cost: int) -> None:
    s = switch("hdr.h.b = x.execute(hdr.h.a);", f"Meter<bit<8>>(3, MeterType_t.{units}, 7, 8, 9) x;")
    cells = s.meters["pipe.I.x"].cells
    cells[2].configure(tuple((rate, burst * cost) for rate, burst in FEW))
    cells[0].configure(((0, 0), (0, 0)))
    red, yellow, green = 7, 8, 9
    assert [colour(s, 2) for _ in range(4)] == [green, yellow, red, red]
    assert colour(s, 0) == red
    assert colour(s, 3) == green  # there is no such cell
    assert (list(cells[2].packets), list(cells[2].octets)) == ([1, 1, 2], [(FRAME + CHECK) * n for n in (1, 1, 2)])


def test_a_meter_keeps_the_colour_that_a_packet_brings() -> None:
    s = switch("hdr.h.b = x.execute(hdr.h.a, (MeterColor_t)hdr.h.b);", "Meter<bit<8>>(3, MeterType_t.PACKETS) x;")
    green, yellow, red = 0, 1, 3
    assert [colour(s, 1, before) for before in (green, yellow, red)] == [green, yellow, red]
    s.meters["pipe.I.x"].cells[1].configure(((0, 1), (0, 4)))
    assert [colour(s, 1, before) for before in (yellow, green, green)] == [yellow, green, yellow]


def test_direct_meters_belong_to_entries() -> None:
    s = switch(
        "t.apply();",
        "DirectMeter(MeterType_t.PACKETS) x; action run() { hdr.h.b = x.execute(); }" + KEYED.format(property="meters"),
    )
    plain, limited = (TableEntry((Exact(a),), ActionData("I.run")) for a in (1, 2))
    for each in (plain, limited):
        s.tables["pipe.I.t"].insert(each)
    limited.meter = MeterCell()
    limited.meter.configure(FEW)
    assert [colour(s, 2) for _ in range(4)] == [0, 1, 3, 3]
    assert [colour(s, a) for a in (1, 1, 1, 9)] == [0, 0, 0, 0]
    assert plain.meter is not None
    assert list(plain.meter.packets) == [3, 0, 0]


def test_two_tables_may_not_share_a_direct_counter() -> None:
    twice = KEYED.format(property="counters") + KEYED.format(property="counters").replace("table t", "table u")
    local = "DirectCounter<bit<32>>(CounterType_t.BYTES) x; action run() { x.count(); }"
    with pytest.raises(Unsupported, match=re.escape("x in tables") + ".*t and .*u"):
        switch("t.apply(); u.apply();", local + twice)
    with pytest.raises(Unsupported, match="x that no table names"):
        switch("run();", local)
