# SPDX-License-Identifier: Apache-2.0
"""Binary heaps for compiled code.

Of entries of three words, by time and, of one time, by order; of keys; and of items by a time in floating point and, of
one time, by their numbers.
"""

from __future__ import annotations

from offramp_base.native.records import Record
from offramp_base.native.subset import Doubles, Words, inlined


class HeapEntry(Record):
    """An entry; a heap is as many of them, one behind the other, as its owner counts."""

    time: int
    order: int
    item: int


@inlined
def _put(entry: HeapEntry, time: int, order: int, item: int) -> None:
    entry.time = time
    entry.order = order
    entry.item = item


@inlined
def sift_up(heap: HeapEntry, place: int, time: int, order: int, item: int) -> None:
    """Put an entry into a heap of ``place`` entries, behind which there is room for one more."""
    while place > 0:
        parent = heap[(place - 1) >> 1]
        if parent.time < time or (parent.time == time and parent.order < order):
            break
        _put(heap[place], parent.time, parent.order, parent.item)
        place = (place - 1) >> 1
    _put(heap[place], time, order, item)


@inlined
def drop_first(heap: HeapEntry, count: int) -> None:
    """Remove the first entry of a heap that keeps ``count`` others."""
    last = heap[count]
    time = last.time
    order = last.order
    item = last.item
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        lower = heap[child]
        if child + 1 < count:
            right = heap[child + 1]
            if right.time < lower.time or (right.time == lower.time and right.order < lower.order):
                child += 1
                lower = right
        if lower.time > time or (lower.time == time and lower.order > order):
            break
        _put(heap[place], lower.time, lower.order, lower.item)
        place = child
    _put(heap[place], time, order, item)


@inlined
def sift_key_up(heap: Words, place: int, key: int) -> None:
    """Put a key into a heap of ``place`` keys, behind which there is room for one more."""
    while place > 0 and heap[(place - 1) >> 1] > key:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = key


@inlined
def drop_first_key(heap: Words, count: int) -> None:
    """Remove the lowest key of a heap that keeps ``count`` others."""
    key = heap[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@inlined
def sift_item_up(times: Doubles, items: Words, place: int, time: float, item: int) -> None:
    """Put an item into a heap of ``place`` items, whose two arrays have room for one more."""
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] < time or (times[parent] == time and items[parent] < item):
            break
        times[place] = times[parent]
        items[place] = items[parent]
        place = parent
    times[place] = time
    items[place] = item


@inlined
def drop_first_item(times: Doubles, items: Words, count: int) -> None:
    """Remove the first item of a heap that keeps ``count`` others."""
    time = times[count]
    item = items[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count:
            right = child + 1
            if times[right] < times[child] or (times[right] == times[child] and items[right] < items[child]):
                child = right
        if time < times[child] or (time == times[child] and item < items[child]):
            break
        times[place] = times[child]
        items[place] = items[child]
        place = child
    times[place] = time
    items[place] = item
