"""Keys of requests under way: a chained hash table, and those who wait in the order in which they came.

Written in the part of Python that :mod:`offramp.native` compiles.
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
)
from offramp.native.subset import Words, native

_MULTIPLIER = 0x1E3779B97F4A7C15


@native
def _bucket(memory: Words, key: int, space: int) -> int:
    mixed = (key ^ (key >> 29)) * _MULTIPLIER + space
    return (mixed ^ (mixed >> 32)) & (memory[BUCKETS] - 1)


@native
def find(memory: Words, key: int, space: int) -> int:
    """The entry of a key, or NONE."""
    keys = memory + memory[ENTRY_KEY]
    spaces = memory + memory[ENTRY_SPACE]
    following = memory + memory[ENTRY_NEXT]
    buckets = memory + memory[BUCKET]
    entry = buckets[_bucket(memory, key, space)]
    while entry != NONE and (keys[entry] != key or spaces[entry] != space):
        entry = following[entry]
    return entry


@native
def insert(memory: Words, key: int, space: int) -> int:
    """A new entry; there is one for each row."""
    keys = memory + memory[ENTRY_KEY]
    spaces = memory + memory[ENTRY_SPACE]
    following = memory + memory[ENTRY_NEXT]
    buckets = memory + memory[BUCKET]
    bucket = _bucket(memory, key, space)
    entry = memory[FREE]
    memory[FREE] = following[entry]
    keys[entry] = key
    spaces[entry] = space
    following[entry] = buckets[bucket]
    buckets[bucket] = entry
    return entry


@native
def remove(memory: Words, entry: int) -> None:
    """An entry that nobody uses or waits for is no more."""
    keys = memory + memory[ENTRY_KEY]
    spaces = memory + memory[ENTRY_SPACE]
    following = memory + memory[ENTRY_NEXT]
    buckets = memory + memory[BUCKET]
    bucket = _bucket(memory, keys[entry], spaces[entry])
    at = buckets[bucket]
    if at == entry:
        buckets[bucket] = following[entry]
    else:
        while following[at] != entry:
            at = following[at]
        following[at] = following[entry]
    following[entry] = memory[FREE]
    memory[FREE] = entry


@native
def hold(memory: Words, entry: int, row: int) -> int:
    """A row waits behind all that came before it."""
    following = memory + memory[ROW_NEXT]
    order = memory + memory[ROW_ORDER]
    heads = memory + memory[ENTRY_HEAD]
    tails = memory + memory[ENTRY_TAIL]
    paths = memory + memory[ROW_PATH]
    entries = memory + memory[ROW_ENTRY]
    paths[row] = HOLD
    entries[row] = entry
    tail = tails[entry]
    before = NONE
    if tail != NONE and order[tail] < order[row]:
        before = tail
    else:
        at = heads[entry]
        while at != NONE and order[at] < order[row]:
            before = at
            at = following[at]
    if before == NONE:
        following[row] = heads[entry]
        heads[entry] = row
    else:
        following[row] = following[before]
        following[before] = row
    if following[row] == NONE:
        tails[entry] = row
    return HOLD


@native
def release(memory: Words, entry: int, before: int) -> int:
    """Take out the row that waits behind ``before`` (the first for NONE); returns it."""
    following = memory + memory[ROW_NEXT]
    heads = memory + memory[ENTRY_HEAD]
    tails = memory + memory[ENTRY_TAIL]
    row = 0
    if before == NONE:
        row = heads[entry]
        heads[entry] = following[row]
    else:
        row = following[before]
        following[before] = following[row]
    if tails[entry] == row:
        tails[entry] = before
    following[row] = NONE
    return row


@native
def idle(memory: Words, entry: int) -> bool:
    """Nobody uses it, nobody waits for it."""
    counts = memory + memory[ENTRY_COUNT]
    heads = memory + memory[ENTRY_HEAD]
    return counts[entry] == 0 and heads[entry] == NONE
