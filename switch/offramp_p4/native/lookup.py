# SPDX-License-Identifier: Apache-2.0
"""Look-ups in tables and value sets: from the values of all keys to the entry that matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp_base.native.llvm import I64, Value, const, ll
from offramp_base.native.records import offset
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.runtime.blocksets import SET
from offramp_p4.native.runtime.context import TableRecord
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.patterns import find_best
from offramp_p4.native.runtime.prefixes import find_longest


@dataclass(frozen=True, slots=True)
class MemberBits:
    """Memory in which machine code finds the members of a selector's groups that take packets.

    Attributes:
        word: index in the context of the address of rows.
        stride: bytes of a row; each has the byte of one member.
        offset: offset of that byte.
    """

    word: int
    stride: int
    offset: int


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The position and layout of a table or value set in the context, for machine code.

    Attributes:
        words: index in the context of its first word.
        row_size: size of each entry's action data, bytes.
        profile: index in the context of its profile's words: address of the members' rows, address of the
            groups (address of the numbers of their members and how many these are; with ``status`` also that of the
            members' places in it); None without a profile.
        member_size: bytes of a member's row.
        registers: index in the context of the address of each entry's direct register: a number, and whether it has
            been used, a word each; None without one.
        status: status of the profile's members; None where all take packets.
    """

    words: int
    key: KeyFormat
    row_size: int = 0
    profile: int | None = None
    member_size: int = 0
    registers: int | None = None
    status: MemberBits | None = None


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
