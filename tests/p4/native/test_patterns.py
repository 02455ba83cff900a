# SPDX-License-Identifier: Apache-2.0
"""Ternary tables of thousands of entries of the shapes that decide how they are found, on both engines.

The engine's scan is the oracle. What is asked of the structure itself is only that the case is the one meant.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.filters import SHAPES, TABLE, WIDTHS, Keys, filters, random_entries, shaped_entries
from offramp_p4.native.runtime.blocksets import ENTRIES
from offramp_p4.native.runtime.entries import LONGEST
from offramp_p4.native.state.patterns import MOST_TUPLES, PatternSearch
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.state import ANY, ActionData, Range, TableEntry, Ternary
from twins import Twins

pytestmark = pytest.mark.p4

COUNT = 2000
Listed = list[tuple[Keys, int]]


@cache
def twins(ranges: bool) -> Twins:
    return Twins(filters([], "none", ranges=ranges, packets=1).program)


def fresh(ranges: bool) -> Twins:
    pair = twins(ranges)
    pair.each(lambda s: s.reset())
    return pair


def search(pair: Twins) -> PatternSearch:
    table = pair.native.tables[TABLE]
    assert isinstance(table, NativeTable)
    assert isinstance(table._search, PatternSearch)
    return table._search


def insert(pair: Twins, entries: Listed) -> None:
    for number, (keys, priority) in enumerate(entries):
        action = ActionData("FiltersIngress.to", ((priority + number) % 500,))
        pair.each(lambda s, k=keys, a=action, p=priority: s.tables[TABLE].insert(TableEntry(k, a, p)))


def delete(pair: Twins, entries: Listed) -> None:
    for keys, priority in entries:
        pair.each(lambda s, k=keys, p=priority: s.tables[TABLE].delete(k, p))


def look_up(pair: Twins, entries: Listed, ranges: bool, packets: int = 300) -> None:
    """Packets of which nine in ten match one of the entries, also where another one wins."""
    load = filters([keys for keys, _ in entries], "look-ups", ranges=ranges, packets=packets, seed=len(entries))
    pair.send([frame for batch in load.batches for frame in batch])


def distinct(keys: Sequence[Keys], priority: Callable[[int], int]) -> Listed:
    return list({(k, priority(i)): None for i, k in enumerate(keys)})


def change_in_parts(pair: Twins, entries: Listed, ranges: bool, rng: random.Random) -> None:
    """Insert in parts, delete in random order, insert what was deleted again, in another order."""
    for at in range(0, len(entries), 700):
        insert(pair, entries[at : at + 700])
        look_up(pair, entries[: at + 700], ranges)
    gone = rng.sample(entries, len(entries) * 2 // 3)
    delete(pair, gone)
    look_up(pair, entries, ranges)
    rng.shuffle(gone)
    insert(pair, gone)
    look_up(pair, entries, ranges)
    pair.each(lambda s: s.tables[TABLE].clear())
    look_up(pair, entries, ranges, 10)


@pytest.mark.full
@pytest.mark.parametrize("ranges", [False, True], ids=["masks", "ranges"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_classbench(shape: str, ranges: bool) -> None:
    rng = random.Random(shape)
    entries = distinct(shaped_entries(SHAPES[shape], COUNT, ranges=ranges, seed=5), lambda _: rng.randint(1, 40))
    change_in_parts(fresh(ranges), entries, ranges, rng)


@pytest.mark.full
def test_entries_with_bits_in_common_are_hashed() -> None:
    pair, entries = fresh(True), distinct(shaped_entries(SHAPES["ACL"], COUNT, ranges=True), lambda i: 1 + i % 7)
    insert(pair, entries)
    look_up(pair, entries, True)
    assert 1 <= search(pair).index.tuples <= MOST_TUPLES
    assert search(pair).index.blocks < COUNT // ENTRIES


@pytest.mark.full
def test_random_masks() -> None:
    rng = random.Random(4)
    pair, entries = fresh(False), distinct(random_entries(COUNT), lambda _: rng.randint(1, 10))
    insert(pair, entries)
    look_up(pair, entries, False)
    assert search(pair).index.blocks > COUNT // ENTRIES
    change_in_parts(fresh(False), entries, False, rng)


@pytest.mark.full
@pytest.mark.parametrize(
    "priority",
    [lambda i: 1 + i, lambda i: COUNT - i, lambda i: 1, lambda i: 1 + i * 7919 % COUNT],
    ids=["rising", "falling", "equal", "mixed"],
)
def test_blocks_are_split_where_scores_say(priority: Callable[[int], int]) -> None:
    """Random masks, one by one, so that none is placed by building anew."""
    pair, entries = fresh(False), distinct(random_entries(COUNT, seed=6), priority)
    insert(pair, entries[:600])
    look_up(pair, entries[:600], False)
    search(pair)._bearable = COUNT
    insert(pair, entries[600:])
    look_up(pair, entries, False)
    assert ENTRIES * search(pair).index.blocks < 3 * COUNT


@pytest.mark.full
@pytest.mark.parametrize("count", [LONGEST + 1, ENTRIES + 1, COUNT])
def test_equal_keys_of_all_priorities(count: int) -> None:
    """The chain of a hash table is as long as it may be; the rest is elsewhere."""
    same = (Ternary(0x0A000000, 0xFF000000), ANY, ANY, ANY, Ternary(6, 0xFF))
    entries: Listed = [(same, 1 + i * 37 % 9973) for i in range(count)]
    pair = fresh(True)
    insert(pair, entries)
    look_up(pair, entries, True, 20)
    for priority in sorted((p for _, p in entries), reverse=True)[:40]:
        delete(pair, [(same, priority)])
        look_up(pair, entries, True, 2)


def test_nested_ranges_and_masks_of_all_ones_and_zero() -> None:
    rng = random.Random(8)
    exact = tuple(Ternary(rng.getrandbits(w), (1 << w) - 1) for w in WIDTHS)
    keys = [(ANY,) * 5, (*exact[:2], ANY, ANY, exact[4])]
    keys += [(ANY, ANY, Range(0x7FFF - i, 0x8000 + i), Range(i, i), ANY) for i in range(600)]
    keys += [(exact[0], ANY, Range(i, 65535 - i), ANY, ANY) for i in range(1, 600)]
    change_in_parts(fresh(True), distinct(keys, lambda _: rng.randint(1, 3)), True, rng)


def test_priorities_of_0_and_below() -> None:
    """The priority decides, also where it is 0 or less."""
    pair = fresh(True)
    exact: Keys = (Ternary(1, 0xFFFFFFFF), ANY, ANY, ANY, ANY)
    insert(pair, [((ANY,) * 5, 0), (exact, -3)])
    look_up(pair, [(exact, 0)], True, 20)


def test_a_table_of_many_entries_is_built_anew_beside_the_packets() -> None:
    """The prepared tables are those that were there, and changes that are made meanwhile are not lost."""
    pair, entries = fresh(True), distinct(shaped_entries(SHAPES["IP chain"], COUNT, ranges=True), lambda i: 1 + i % 9)
    insert(pair, entries[:-200])
    pair.native.process(PacketBatch.empty())
    table = pair.native.tables[TABLE]
    assert isinstance(table, NativeTable)
    delete(pair, entries[:50])
    pair.native.process(PacketBatch.empty())
    before = search(pair).index
    table._search.prepare(4 * COUNT)  # type: ignore[union-attr]
    table._changes.dirty.add(table)
    insert(pair, entries[-200:])
    delete(pair, entries[50:100])
    look_up(pair, entries, True)
    assert search(pair).index is not before
