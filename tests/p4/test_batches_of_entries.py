# SPDX-License-Identifier: Apache-2.0
"""Entries in columns: the same as one by one, all or none, on both engines."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from both_engines import MakeSwitch
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch, ir
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.native.state.changes import CHUNK, LARGE, MOST
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.state import ANY, ActionData, Exact, Lpm, Match, StateError, TableEntry, TableState
from offramp_p4.state.batch import EntryBatch, column
from offramp_p4.state.match import prefix_mask
from p4_programs import program

pytestmark = pytest.mark.p4

TABLES = {
    "lpm": [("lpm", 32)],
    "short lpm": [("lpm", 11)],
    "wide lpm": [("lpm", 128)],
    "exact": [("exact", 48)],
    "wide exact": [("exact", 65), ("exact", 7)],
    "both": [("exact", 9), ("lpm", 40), ("exact", 70)],
}
SIZE = 50_000


@cache
def loaded(name: str) -> ir.Program:
    keys = TABLES[name]
    fields = " ".join(f"bit<{width}> k{i};" for i, (_, width) in enumerate(keys))
    pad = -sum(width for _, width in keys) % 8
    header = f"header k_t {{ {fields} {f'bit<{pad}> pad;' if pad else ''} }} header r_t {{ bit<32> v; bit<136> w; }}"
    listed = " ".join(f"hdr.h.k{i}: {kind};" for i, (kind, _) in enumerate(keys))
    local = f"""
        action give(bit<32> v, bit<131> w) {{ hdr.r.v = v; hdr.r.w = (bit<136>)w; }}
        action miss() {{ hdr.r.v = 7; }}
        table t {{ key = {{ {listed} }} actions = {{ give; @defaultonly miss; }} default_action = miss;
                   size = {SIZE}; }}"""
    text = program("hdr.r.setValid(); t.apply(); sm.egress_spec = 1;", top=header, local=local)
    text = text.replace("struct headers { h_t h; h_t[3] s; }", "")
    return load_text(text.replace(header, header + " struct headers { k_t h; r_t r; }"))


def table(switch: PlainSwitch) -> TableState:
    return switch.tables["I.t"]


class Drawn:
    """Different entries of one table, and packets for them."""

    def __init__(self, name: str, count: int, seed: int = 1) -> None:
        self.keys = TABLES[name]
        rng = self.rng = random.Random(seed)
        rows: dict[tuple[object, ...], None] = {}
        while len(rows) < count:
            length = 0
            row = []
            for kind, width in self.keys:
                value = rng.getrandbits(width)
                if kind == "lpm":
                    length = rng.choice([0, 1, width // 2, width - 2, width - 1, width])
                    value &= prefix_mask(length, width)
                row.append(value)
            rows[(*row, length)] = None
        self.rows = [tuple(map(int, row)) for row in rows]  # type: ignore[call-overload]
        self.data = [(rng.getrandbits(32), rng.getrandbits(131)) for _ in self.rows]

    def batch(self, part: slice = slice(None)) -> EntryBatch:
        rows, data = self.rows[part], self.data[part]
        lengths = np.array([row[-1] for row in rows], np.int64) if "lpm" in dict(self.keys) else None
        return EntryBatch(
            tuple(column([row[i] for row in rows], width) for i, (_, width) in enumerate(self.keys)),
            "I.give",
            (column([v for v, _ in data], 32), column([w for _, w in data], 131)),
            lengths,
        )

    def entry(self, i: int) -> TableEntry:
        return TableEntry(self.match(i), ActionData("I.give", self.data[i]))

    def match(self, i: int) -> tuple[Match, ...]:
        *values, length = self.rows[i]
        return tuple(
            Exact(v) if kind == "exact" else Lpm(v, length) if length else ANY
            for v, (kind, _) in zip(values, self.keys, strict=True)
        )

    def frames(self, count: int = 200) -> PacketBatch:
        batch = []
        for _ in range(count):
            *values, length = self.rng.choice(self.rows)
            number = 0
            for value, (kind, width) in zip(values, self.keys, strict=True):
                behind = self.rng.getrandbits(width) & ((1 << width - length) - 1) if kind == "lpm" else 0
                flip = self.rng.random() < 0.1
                number = number << width | value ^ behind ^ (flip and 1 << self.rng.randrange(width))
            bits = sum(width for _, width in self.keys)
            batch.append((0, (number << -bits % 8).to_bytes((bits + 7) // 8, "big")))
        return PacketBatch.of(batch)


def held(switch: PlainSwitch) -> Counter[object]:
    return Counter((e.keys, e.action, e.priority) for e in table(switch).entries)


@pytest.mark.parametrize("name", TABLES)
def test_a_batch_is_as_its_entries_one_by_one(make_switch: MakeSwitch, name: str) -> None:
    drawn = Drawn(name, 900)
    switch, other = (make_switch(loaded(name)) for _ in range(2))
    table(switch).insert_all(drawn.batch())
    for i in range(900):
        table(other).insert(drawn.entry(i))
    assert held(switch) == held(other)
    assert len(table(switch)) == 900
    batch = drawn.frames()
    assert list(switch.process(batch)) == list(other.process(batch))


@pytest.mark.parametrize("name", TABLES)
def test_its_entries_are_entries_like_others(make_switch: MakeSwitch, name: str) -> None:
    drawn, rng = Drawn(name, 600), random.Random(3)
    switch, other = (make_switch(loaded(name)) for _ in range(2))
    for i in range(0, 600, 200):
        table(switch).insert_all(drawn.batch(slice(i, i + 150)))
        for j in range(i + 150, i + 200):
            table(switch).insert(drawn.entry(j))
    for i in range(600):
        table(other).insert(drawn.entry(i))
    for step in range(300):
        i = rng.randrange(600)
        for t in (table(switch), table(other)):
            if t.get(drawn.match(i)) is None:
                t.insert(drawn.entry(i))
            elif step % 3:
                t.delete(drawn.match(i))
            else:
                t.modify(TableEntry(drawn.match(i), ActionData("I.give", (step, step))))
        if step % 60 == 0:
            batch = drawn.frames(60)
            assert list(switch.process(batch)) == list(other.process(batch))
    assert held(switch) == held(other)
    for end in (TableState.clear, TableState.reset):
        end(table(switch))
        assert (len(table(switch)), held(switch)) == (0, Counter())
        table(switch).insert_all(drawn.batch())
        assert len(table(switch)) == 600


@pytest.mark.parametrize("name", ["exact", "both"])
@pytest.mark.parametrize("at", [1, CHUNK, 3 * CHUNK + 5])
def test_all_or_none(make_switch: MakeSwitch, name: str, at: int) -> None:
    """An entry that is there already, a key that is twice in the batch, or no room: nothing has changed."""
    drawn = Drawn(name, 4 * CHUNK, seed=at)
    switch = make_switch(loaded(name))
    table(switch).insert(drawn.entry(at))
    before, batch = held(switch), drawn.frames()
    answers = list(switch.process(batch))
    for wrong in (drawn.batch(), twice(drawn, at)):
        with pytest.raises(StateError, match=r"table I\.t: an entry with this match exists") as refused:
            table(switch).insert_all(wrong)
        assert refused.value.kind == "already_exists"
        assert held(switch) == before
        assert list(switch.process(batch)) == answers
    table(switch).size = 4 * CHUNK - 1
    table(switch).delete(drawn.match(at))
    with pytest.raises(StateError, match="holds at most") as refused:
        table(switch).insert_all(drawn.batch())
    assert (refused.value.kind, len(table(switch))) == ("exhausted", 0)
    table(switch).size = 4 * CHUNK
    table(switch).insert_all(drawn.batch())
    assert len(table(switch)) == 4 * CHUNK


def twice(drawn: Drawn, at: int) -> EntryBatch:
    both_ways = Drawn.__new__(Drawn)
    others = [i for i in range(len(drawn.rows)) if i != at]
    order = [*others[: at + 1], others[0], *others[at + 1 :]]
    both_ways.keys, both_ways.rows, both_ways.data = (
        drawn.keys,
        [drawn.rows[i] for i in order],
        [drawn.data[i] for i in order],
    )
    return both_ways.batch()


WORD = np.zeros(2, np.uint64)
WIDE = column([0, 0], 131)
REFUSED = {
    "no action": (EntryBatch((WORD,), "I.none", (), WORD), "has no action I.none"),
    "default only": (EntryBatch((WORD,), "I.miss", (), WORD), "may not stand in entries"),
    "arguments": (EntryBatch((WORD,), "I.give", (WORD,), WORD), "takes 2 arguments, not 1"),
    "keys": (EntryBatch((WORD, WORD), "I.give", (WORD, WIDE), WORD), "other keys than the table"),
    "no lengths": (EntryBatch((WORD,), "I.give", (WORD, WIDE)), "other keys than the table"),
    "length": (EntryBatch((WORD,), "I.give", (WORD, WIDE), WORD + 33), r"outside 0\.\.32"),
    "value": (
        EntryBatch((WORD + 2**32,), "I.give", (WORD, WIDE), WORD),
        "key 0: a number does not fit 32",
    ),
    "wide argument": (
        EntryBatch((WORD,), "I.give", (WORD, column([0, 1 << 131], 131)), WORD),
        "argument 1: a number does",
    ),
    "negative": (
        EntryBatch((WORD.view(np.int64) - 1,), "I.give", (WORD, WIDE), WORD),
        "does not fit 32",
    ),
    "shape": (EntryBatch((WORD,), "I.give", (WORD, WORD), WORD), r"expected integers of shape \(2, 3\)"),
    "floats": (EntryBatch((WORD + 0.5,), "I.give", (WORD, WIDE), WORD), "expected integers"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_does_not_fit_is_refused(make_switch: MakeSwitch, fault: str) -> None:
    switch = make_switch(loaded("lpm"))
    batch, message = REFUSED[fault]
    with pytest.raises(StateError, match=message):
        table(switch).insert_all(batch)
    assert len(table(switch)) == 0


@pytest.mark.full
def test_packets_meet_a_table_that_grows() -> None:
    """The copy of a large table that packets will use is made while they run; look-ups are right at every size."""
    drawn, switch = Drawn("lpm", 2 * LARGE + 4 * CHUNK), NativeSwitch(loaded("lpm"))
    for at in range(0, len(drawn.rows), CHUNK):
        table(switch).insert_all(drawn.batch(slice(at, at + CHUNK)))
        number = at + drawn.rng.randrange(min(CHUNK, len(drawn.rows) - at))
        value, length = drawn.rows[number]
        if length == 32:
            ((_, frame),) = switch.process_one(0, value.to_bytes(4, "big"))
            assert int.from_bytes(frame[4:8], "big") == drawn.data[number][0]
    other = NativeSwitch(loaded("lpm"))
    for i in range(len(drawn.rows)):
        table(other).insert(drawn.entry(i))
    batch = drawn.frames(2000)
    assert list(switch.process(batch)) == list(other.process(batch))


@pytest.mark.parametrize("single", [False, True])
def test_what_packets_wait_for_is_bounded(single: bool) -> None:
    """After many insertions the first packet finds few changes to take in, and no table to enlarge."""
    drawn, switch = Drawn("lpm", LARGE + 100), NativeSwitch(loaded("lpm"))
    mine = table(switch)
    assert isinstance(mine, NativeTable)
    if single:
        for i in range(len(drawn.rows)):
            mine.insert(drawn.entry(i))
            assert mine._changes.pending < MOST
    else:
        mine.insert_all(drawn.batch())
        assert mine._changes.pending == 0
    switch.process(PacketBatch.empty())
    rows = mine._rows
    assert len(rows) > LARGE
    mine.insert(TableEntry((Lpm(0x01020304, 31),), ActionData("I.give", (1, 2))))
    switch.process(PacketBatch.empty())
    assert mine._rows is rows
