# SPDX-License-Identifier: Apache-2.0
"""Keys of requests under way: a chained hash table, with waiting requests in the order of their arrival.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    HOLD,
    NONE,
    SelectorState,
    entry_of,
    row_of,
)
from offramp_base.native.subset import native

_MULTIPLIER = 0x1E3779B97F4A7C15


@native
def _bucket(memory: SelectorState, key: int, space: int) -> int:
    mixed = (key ^ (key >> 29)) * _MULTIPLIER + space
    return (mixed ^ (mixed >> 32)) & (memory.bucket_count - 1)


@native
def find(memory: SelectorState, key: int, space: int) -> int:
    """The entry of a key, or NONE."""
    buckets = memory.buckets
    entry = buckets[_bucket(memory, key, space)]
    while entry != NONE:
        held = entry_of(memory, entry)
        if held.key == key and held.space == space:
            break
        entry = held.next
    return entry


@native
def insert(memory: SelectorState, key: int, space: int) -> int:
    """Insert an entry; there is room for one per row."""
    buckets = memory.buckets
    bucket = _bucket(memory, key, space)
    entry = memory.free
    memory.free = entry_of(memory, entry).next
    entry_of(memory, entry).key = key
    entry_of(memory, entry).space = space
    entry_of(memory, entry).next = buckets[bucket]
    buckets[bucket] = entry
    return entry


@native
def remove(memory: SelectorState, entry: int) -> None:
    """Remove an entry that no request uses or waits for."""
    held = entry_of(memory, entry)
    buckets = memory.buckets
    bucket = _bucket(memory, held.key, held.space)
    at = buckets[bucket]
    if at == entry:
        buckets[bucket] = held.next
    else:
        while entry_of(memory, at).next != entry:
            at = entry_of(memory, at).next
        entry_of(memory, at).next = held.next
    held.next = memory.free
    memory.free = entry


@native
def hold(memory: SelectorState, entry: int, row: int) -> int:
    """Queue a row behind all that arrived before it."""
    own = row_of(memory, row)
    held = entry_of(memory, entry)
    own.path = HOLD
    own.entry = entry
    tail = held.tail
    before = NONE
    if tail != NONE and row_of(memory, tail).order < own.order:
        before = tail
    else:
        at = held.head
        while at != NONE and row_of(memory, at).order < own.order:
            before = at
            at = row_of(memory, at).next
    if before == NONE:
        own.next = held.head
        held.head = row
    else:
        own.next = row_of(memory, before).next
        row_of(memory, before).next = row
    if own.next == NONE:
        held.tail = row
    return HOLD


@native
def release(memory: SelectorState, entry: int, before: int) -> int:
    """Remove the row that waits behind ``before`` (the first for NONE) and return it."""
    held = entry_of(memory, entry)
    row = 0
    if before == NONE:
        row = held.head
        held.head = row_of(memory, row).next
    else:
        row = row_of(memory, before).next
        row_of(memory, before).next = row_of(memory, row).next
    if held.tail == row:
        held.tail = before
    row_of(memory, row).next = NONE
    return row


@native
def idle(memory: SelectorState, entry: int) -> bool:
    """Whether no request uses the entry or waits for it."""
    held = entry_of(memory, entry)
    return held.count == 0 and held.head == NONE
