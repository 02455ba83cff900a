# SPDX-License-Identifier: Apache-2.0
"""Look-ups in tables and value sets: from the values of all keys to the entry that matches."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_base.native.llvm import I64, Value, const, ll
from offramp_base.native.records import offset
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime.blocksets import SET
from offramp_p4.native.runtime.context import TableRecord
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.patterns import find_best
from offramp_p4.native.runtime.prefixes import find_longest
from offramp_p4.native.table_plan import TablePlan


def key_room(g: Emitter, plan: TablePlan) -> Value:
    """The address of room for a key."""
    return g.allocate(ll.IntType(64 * plan.key.words), 8)


def store_key(g: Emitter, plan: TablePlan, values: Sequence[Value], words: Value) -> None:
    """Write the concatenation of the values of all keys to ``words``."""
    key = plan.key
    whole = ll.IntType(64 * key.words)
    number = const(whole, 0)
    for i in key.order:
        if key.widths[i]:
            number = g.b.shl(number, const(whole, key.widths[i] % whole.width))
            number = g.b.or_(number, g.resize(values[i], whole.width))
    g.tags.mark(g.b.store(number, words, align=8), "Words")


def lookup(g: Emitter, plan: TablePlan, values: Sequence[Value], words: Value | None = None) -> Value:
    """The entry, counted from 1, that matches the values of all keys; 0 if none does.

    The concatenation of the keys is left at ``words`` (None: not needed).
    """
    key = plan.key
    if words is None:
        words = key_room(g, plan)
    store_key(g, plan, values, words)
    at = plan.words
    table = g.word_address(at)
    if key.search == "exact":
        return g.call(find, g.pointer(at + offset(TableRecord.slots)), g.word(at + TableRecord.mask), words, key.words)
    if key.search == "prefix":
        shape = (key.words, key.widths[key.prefix], key.root_bits, int(key.exact), key.extra_at)
        return g.call(find_longest, table, words, key_room(g, plan), *shape)
    numbers = g.allocate(ll.ArrayType(I64, max(len(key.ranges), 1)))
    for position, i in enumerate(key.ranges):
        stored = g.b.store(g.resize(values[i], 64), g.at(numbers, 8 * position))
        g.tags.mark(stored, "Words")
    matching = g.allocate(ll.ArrayType(I64, SET), 8)
    return g.call(find_best, table, words, numbers, matching, key.words, len(key.ranges))
