# SPDX-License-Identifier: Apache-2.0
"""Keys of requests under way: a chained hash table, and those who wait in the order in which they came.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    BUCKET,
    BUCKETS,
    ENTRY_COUNT,
    ENTRY_HEAD,
    ENTRY_KEY,
    ENTRY_NEXT,
    ENTRY_SPACE,
    ENTRY_TAIL,
    FREE,
    HOLD,
    NONE,
    ROW_ENTRY,
    ROW_NEXT,
    ROW_ORDER,
    ROW_PATH,
    entry_of,
    row_of,
)
from offramp_base.native.subset import Words, native

_MULTIPLIER = 0x1E3779B97F4A7C15


@native
def _bucket(memory: Words, key: int, space: int) -> int:
    mixed = (key ^ (key >> 29)) * _MULTIPLIER + space
    return (mixed ^ (mixed >> 32)) & (memory[BUCKETS] - 1)


@native
def find(memory: Words, key: int, space: int) -> int:
    """The entry of a key, or NONE."""
    buckets = memory + memory[BUCKET]
    entry = buckets[_bucket(memory, key, space)]
    while entry != NONE:
        held = entry_of(memory, entry)
        if held[ENTRY_KEY] == key and held[ENTRY_SPACE] == space:
            break
        entry = held[ENTRY_NEXT]
    return entry


@native
def insert(memory: Words, key: int, space: int) -> int:
    """A new entry; there is one for each row."""
    buckets = memory + memory[BUCKET]
    bucket = _bucket(memory, key, space)
    entry = memory[FREE]
    memory[FREE] = entry_of(memory, entry)[ENTRY_NEXT]
    entry_of(memory, entry)[ENTRY_KEY] = key
    entry_of(memory, entry)[ENTRY_SPACE] = space
    entry_of(memory, entry)[ENTRY_NEXT] = buckets[bucket]
    buckets[bucket] = entry
    return entry


@native
def remove(memory: Words, entry: int) -> None:
    """An entry that nobody uses or waits for is no more."""
    held = entry_of(memory, entry)
    buckets = memory + memory[BUCKET]
    bucket = _bucket(memory, held[ENTRY_KEY], held[ENTRY_SPACE])
    at = buckets[bucket]
    if at == entry:
        buckets[bucket] = held[ENTRY_NEXT]
    else:
        while entry_of(memory, at)[ENTRY_NEXT] != entry:
            at = entry_of(memory, at)[ENTRY_NEXT]
        entry_of(memory, at)[ENTRY_NEXT] = held[ENTRY_NEXT]
    held[ENTRY_NEXT] = memory[FREE]
    memory[FREE] = entry


@native
def hold(memory: Words, entry: int, row: int) -> int:
    """A row waits behind all that came before it."""
    own = row_of(memory, row)
    held = entry_of(memory, entry)
    own[ROW_PATH] = HOLD
    own[ROW_ENTRY] = entry
    tail = held[ENTRY_TAIL]
    before = NONE
    if tail != NONE and row_of(memory, tail)[ROW_ORDER] < own[ROW_ORDER]:
        before = tail
    else:
        at = held[ENTRY_HEAD]
        while at != NONE and row_of(memory, at)[ROW_ORDER] < own[ROW_ORDER]:
            before = at
            at = row_of(memory, at)[ROW_NEXT]
    if before == NONE:
        own[ROW_NEXT] = held[ENTRY_HEAD]
        held[ENTRY_HEAD] = row
    else:
        own[ROW_NEXT] = row_of(memory, before)[ROW_NEXT]
        row_of(memory, before)[ROW_NEXT] = row
    if own[ROW_NEXT] == NONE:
        held[ENTRY_TAIL] = row
    return HOLD


@native
def release(memory: Words, entry: int, before: int) -> int:
    """Take out the row that waits behind ``before`` (the first for NONE); returns it."""
    held = entry_of(memory, entry)
    row = 0
    if before == NONE:
        row = held[ENTRY_HEAD]
        held[ENTRY_HEAD] = row_of(memory, row)[ROW_NEXT]
    else:
        row = row_of(memory, before)[ROW_NEXT]
        row_of(memory, before)[ROW_NEXT] = row_of(memory, row)[ROW_NEXT]
    if held[ENTRY_TAIL] == row:
        held[ENTRY_TAIL] = before
    row_of(memory, row)[ROW_NEXT] = NONE
    return row


@native
def idle(memory: Words, entry: int) -> bool:
    """Nobody uses it, nobody waits for it."""
    held = entry_of(memory, entry)
    return held[ENTRY_COUNT] == 0 and held[ENTRY_HEAD] == NONE
