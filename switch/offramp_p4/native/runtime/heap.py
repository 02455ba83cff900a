# SPDX-License-Identifier: Apache-2.0
"""A binary heap in a buffer (:mod:`offramp_base.native.heap`)."""

from __future__ import annotations

from offramp_base.native.heap import HeapEntry, drop_first, sift_up
from offramp_base.native.subset import Words, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import Buffer, SwitchMemory

ENTRY = HeapEntry.WORDS
_BYTES = 8 * HeapEntry.WORDS


@native
def push(ctx: SwitchMemory, heap: int, time: int, order: int, item: int) -> None:
    """Add an item."""
    append(ctx, heap, _BYTES)
    buffer = Buffer(Words(ctx) + heap)
    sift_up(HeapEntry(buffer.data), buffer.used // _BYTES - 1, time, order, item)


@native
def pop(ctx: SwitchMemory, heap: int) -> int:
    """Take the first item out; there is one."""
    buffer = Buffer(Words(ctx) + heap)
    entries = HeapEntry(buffer.data)
    first = entries.item
    buffer.used -= _BYTES
    drop_first(entries, buffer.used // _BYTES)
    return first
