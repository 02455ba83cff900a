# SPDX-License-Identifier: Apache-2.0
"""Counting: of packets and bytes in pairs of words, and of the entries of tables."""

from __future__ import annotations

from offramp_base.native.llvm import I64, Value, const, i64
from offramp_base.native.records import offset
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime.context import HIT, TableRecord


def add(g: Emitter, address: Value, amount: Value) -> None:
    """Add to a count."""
    total = g.b.add(g.tags.mark(g.b.load(address, typ=I64), "Counts"), amount)
    g.tags.mark(g.b.store(total, address), "Counts")


def count_entry(g: Emitter, words: int, entry: Value, length: Value) -> None:
    """Count a packet for an entry, counted from 1, of the table at ``words``; remember that it has been counted."""
    counter = _touched(g, words, entry)
    add(g, counter, i64(1))
    add(g, g.at(counter, 8), length)


def touch_entry(g: Emitter, words: int, entry: Value) -> None:
    """Remember that an entry was hit, and count nothing."""
    counter = _touched(g, words, entry)
    before = g.tags.mark(g.b.load(counter, typ=I64), "Counts")
    g.tags.mark(g.b.store(g.b.or_(before, i64(HIT)), counter), "Counts")


def _touched(g: Emitter, words: int, entry: Value) -> Value:
    """The counts of an entry, which is now one of those that have been counted."""
    counter = g.at(g.pointer(words + offset(TableRecord.counts)), g.b.mul(g.b.sub(entry, i64(1)), i64(16)))
    before = g.tags.mark(g.b.load(counter, typ=I64), "Counts")
    with g.when(g.b.icmp_unsigned("==", before, const(I64, 0)), likely=False):
        number = g.word(words + TableRecord.touches)
        place = g.at(g.pointer(words + offset(TableRecord.touched)), g.b.mul(number, i64(8)))
        g.tags.mark(g.b.store(entry, place), "Words")
        g.tags.mark(g.b.store(g.b.add(number, i64(1)), g.word_address(words + TableRecord.touches)), "Words")
    return counter
