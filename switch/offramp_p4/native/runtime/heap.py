# SPDX-License-Identifier: Apache-2.0
"""A binary heap in a buffer: what comes first in time, and of one time in order."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import Buffer, Context

ENTRY: Final = 3  # words of an entry: time, order, item
_BYTES: Final = 24


@native
def _before(time: int, order: int, other: Words) -> bool:
    return time < other[0] or (time == other[0] and order < other[1])


@native
def _put(at: Words, time: int, order: int, item: int) -> None:
    at[0] = time
    at[1] = order
    at[2] = item


@native
def push(ctx: Context, heap: int, time: int, order: int, item: int) -> None:
    """Add an item."""
    append(ctx, heap, _BYTES)
    entries = Words(Buffer(Words(ctx) + heap).data)
    place = Buffer(Words(ctx) + heap).used // _BYTES - 1
    while place > 0:
        parent = entries + ENTRY * ((place - 1) // 2)
        if not _before(time, order, parent):
            break
        _put(entries + ENTRY * place, parent[0], parent[1], parent[2])
        place = (place - 1) // 2
    _put(entries + ENTRY * place, time, order, item)


@native
def pop(ctx: Context, heap: int) -> int:
    """Take the first item out; there is one."""
    entries = Words(Buffer(Words(ctx) + heap).data)
    first = entries[2]
    Buffer(Words(ctx) + heap).used -= _BYTES
    count = Buffer(Words(ctx) + heap).used // _BYTES
    last = entries + ENTRY * count
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count:
            right = entries + ENTRY * (child + 1)
            if _before(right[0], right[1], entries + ENTRY * child):
                child += 1
        lower = entries + ENTRY * child
        if not _before(lower[0], lower[1], last):
            break
        _put(entries + ENTRY * place, lower[0], lower[1], lower[2])
        place = child
    _put(entries + ENTRY * place, last[0], last[1], last[2])
    return first
