# SPDX-License-Identifier: Apache-2.0
"""Tables of every kind under random changes, with keys on and beside the entries, on both engines.

The engine's look-up, over its own structures, is the oracle.
"""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4.frontend import load_text
from offramp_p4.state import ANY, ActionData, Exact, Lpm, Match, Optional, Range, StateError, TableEntry, Ternary
from offramp_p4.state.match import prefix_mask
from p4_programs import program
from twins import AnySwitch, Twins

pytestmark = pytest.mark.p4

TABLES = {
    "exact 8": [("exact", 8)],
    "exact 64": [("exact", 64)],
    "exact 65 and 7": [("exact", 65), ("exact", 7)],
    "exact 300": [("exact", 300)],
    "lpm 8": [("lpm", 8)],
    "lpm 13": [("lpm", 13)],
    "lpm 32": [("lpm", 32)],
    "lpm 64": [("lpm", 64)],
    "lpm 128": [("lpm", 128)],
    "lpm 200": [("lpm", 200)],
    "exact and lpm": [("exact", 9), ("lpm", 32), ("exact", 1)],
    "ternary 16": [("ternary", 16)],
    "ternary 100": [("ternary", 100), ("exact", 3)],
    "range": [("range", 16), ("exact", 4)],
    "two ranges": [("range", 9), ("range", 64)],
    "optional": [("optional", 12), ("ternary", 8)],
    "lpm and ternary": [("lpm", 32), ("ternary", 8)],
    "all": [("exact", 4), ("lpm", 32), ("ternary", 70), ("range", 10), ("optional", 5)],
}


def table_program(keys: list[tuple[str, int]]) -> str:
    fields = " ".join(f"bit<{width}> k{i};" for i, (_, width) in enumerate(keys))
    pad = -sum(width for _, width in keys) % 8
    header = f"header k_t {{ {fields} {f'bit<{pad}> pad;' if pad else ''} }} header r_t {{ bit<32> v; bit<8> hit; }}"
    listed = " ".join(f"hdr.k.k{i}: {kind};" for i, (kind, _) in enumerate(keys))
    local = f"""
        direct_counter(CounterType.packets_and_bytes) counts;
        action give(bit<32> v) {{ hdr.r.v = v; }}
        action more(bit<7> a, bit<130> b) {{ hdr.r.v = (bit<32>)a ++ 0 | (bit<32>)b; }}
        table t {{ key = {{ {listed} }} actions = {{ give; more; }} default_action = give(7);
                   counters = counts; size = 100000; }}"""
    local = local.replace("(bit<32>)a ++ 0 | ", "(bit<32>)a | ")
    body = "hdr.r.setValid(); if (t.apply().hit) { hdr.r.hit = 1; } sm.egress_spec = 1;"
    text = program(body, top=header, local=local)
    text = text.replace("struct headers { h_t h; h_t[3] s; }", "")
    return text.replace(header, header + " struct headers { k_t h; r_t r; }").replace("hdr.k.", "hdr.h.")


@cache
def twins(name: str) -> Twins:
    return Twins(load_text(table_program(TABLES[name])))


class Changes:
    """Random entries for one table, close enough to each other to overlap."""

    def __init__(self, keys: list[tuple[str, int]], rng: random.Random) -> None:
        self.keys, self.rng = keys, rng
        self.values = [[rng.getrandbits(width) for _ in range(3)] for _, width in keys]

    def value(self, i: int) -> int:
        width = self.keys[i][1]
        value = self.rng.choice(self.values[i])
        if self.rng.random() < 0.5:
            value ^= 1 << self.rng.randrange(width)
        return value

    def match(self, i: int) -> Match:
        kind, width = self.keys[i]
        value = self.value(i)
        if kind == "exact":
            return Exact(value)
        if self.rng.random() < 0.15:
            return ANY
        if kind == "lpm":
            length = self.rng.randint(0, width)
            return Lpm(value & prefix_mask(length, width), length)
        if kind == "ternary":
            mask = self.rng.choice([(1 << width) - 1, prefix_mask(width // 2, width), self.rng.getrandbits(width)])
            return Ternary(value & mask, mask)
        if kind == "range":
            return Range(*sorted((value, self.value(i))))
        return Optional(value)

    def action(self) -> ActionData:
        if self.rng.random() < 0.5:
            return ActionData("I.give", (self.rng.getrandbits(32),))
        return ActionData("I.more", (self.rng.getrandbits(7), self.rng.getrandbits(130)))

    def frame(self) -> bytes:
        number = bits = 0
        for i, (_, width) in enumerate(self.keys):
            number, bits = number << width | self.value(i), bits + width
        pad = -bits % 8
        return (number << pad).to_bytes((bits + pad) // 8, "big")


def change(pair: Twins, changes: Changes, known: list[tuple[tuple[Match, ...], int]]) -> None:
    """Insert, modify or delete an entry, or change the default action, in both engines."""
    rng, table = changes.rng, pair.engine.tables["I.t"]
    what = rng.random()
    if what < 0.6 or not known:
        keys = tuple(changes.match(i) for i in range(len(changes.keys)))
        priority, action = rng.randint(1, 5) if table.needs_priority else 0, changes.action()
        try:
            pair.each(lambda s: entries(s).insert(TableEntry(keys, action, priority)))
        except StateError:
            return
        known.append((keys, priority))
    elif what < 0.75:
        keys, priority = rng.choice(known)
        action = changes.action()
        pair.each(lambda s: entries(s).modify(TableEntry(keys, action, priority)))
    elif what < 0.97:
        keys, priority = known.pop(rng.randrange(len(known)))
        pair.each(lambda s: entries(s).delete(keys, priority))
    else:
        default = rng.choice([None, changes.action()])
        pair.each(lambda s: entries(s).set_default(default))


def entries(switch: AnySwitch):  # type: ignore[no-untyped-def]
    return switch.tables["I.t"]


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 25))
def test_changes_between_packets(name: str, seed: int, steps: int) -> None:
    pair, changes = twins(name), Changes(TABLES[name], random.Random(seed))
    pair.each(lambda s: s.reset())
    known: list[tuple[tuple[Match, ...], int]] = []
    for _ in range(steps):
        for _ in range(changes.rng.choice([0, 1, 1, 2, 20])):
            change(pair, changes, known)
        pair.send([(0, changes.frame()) for _ in range(changes.rng.choice([1, 10]))])
    pair.each(lambda s: entries(s).clear())
    pair.send([(0, changes.frame())])


@pytest.mark.full
@pytest.mark.parametrize("name", ["exact 64", "lpm 32", "exact and lpm", "ternary 100", "all"])
def test_thousands_of_entries(name: str) -> None:
    pair, rng = twins(name), random.Random(name)
    pair.each(lambda s: s.reset())
    changes = Changes(TABLES[name], rng)
    changes.values = [[rng.getrandbits(width) for _ in range(40)] for _, width in TABLES[name]]
    known: list[tuple[tuple[Match, ...], int]] = []
    for _ in range(3000):
        change(pair, changes, known)
    pair.send([(0, changes.frame()) for _ in range(300)])
    for _ in range(1500):
        change(pair, changes, known)
    pair.send([(0, changes.frame()) for _ in range(300)])


def test_a_rejected_entry_changes_nothing() -> None:
    pair = twins("exact 8")
    pair.each(lambda s: s.reset())
    pair.each(lambda s: entries(s).insert(TableEntry((Exact(1),), ActionData("I.give", (1,)))))
    with pytest.raises(StateError):
        entries(pair.native).insert(TableEntry((Exact(1),), ActionData("I.give", (2,))))
    with pytest.raises(StateError):
        entries(pair.native).modify(TableEntry((Exact(9),), ActionData("I.give", (2,))))
    with pytest.raises(StateError):
        entries(pair.native).delete((Exact(9),))
    pair.send([(0, bytes([i])) for i in range(12)])


def test_counts_of_an_entry_can_be_set() -> None:
    pair = twins("exact 8")
    pair.each(lambda s: s.reset())
    same = [TableEntry((Exact(1),), ActionData("I.give", (1,))) for _ in pair.engines]
    for switch, entry in zip(pair.engines, same, strict=True):
        entries(switch).insert(entry)
    pair.send([(0, b"\1"), (0, b"\1\2\3")])
    assert [(e.packets, e.bytes) for e in same] == [(2, 4)] * 2
    for entry in same:
        entry.packets, entry.bytes = 1 << 70, 5
    pair.send([(0, b"\1")])
    assert [(e.packets, e.bytes) for e in same] == [((1 << 70) + 1, 6)] * 2


@pytest.mark.full
def test_more_entries_than_the_first_allocation_one_by_one() -> None:
    pair = twins("ternary 16")
    pair.each(lambda s: s.reset())
    for i in range(200):
        entry = (Ternary(i, 0xFF),), ActionData("I.give", (i,))
        pair.each(lambda s, entry=entry: entries(s).insert(TableEntry(*entry, 1)))
        pair.send([(0, (i + j).to_bytes(2, "big")) for j in range(3)])


@pytest.mark.full
def test_priority_0_is_a_priority_too() -> None:
    """Among entries with priorities the first of equals wins, not the longest prefix."""
    pair = twins("lpm and ternary")
    pair.each(lambda s: s.reset())
    for length in (8, 24, 16):
        keys = Lpm(0x0A000000, length), ANY
        action = ActionData("I.give", (length,))
        pair.each(lambda s, k=keys, a=action: entries(s).insert(TableEntry(k, a, 0)))
    pair.send([(0, bytes([10, 0, 0, 1, 0])), (0, bytes([10, 1, 0, 1, 0]))])
