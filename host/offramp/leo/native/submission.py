# SPDX-License-Identifier: Apache-2.0
"""Requests that are offered but not yet admitted, checked and copied to where compiled code takes them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from offramp.leo.native import batch as of
from offramp.leo.native.machine import machine
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Words, native

_STAGGER: Final = 40
"""Extra words between columns: rows of columns a power of two apart would share one set of the cache."""


class Submissions(Record):
    """Requests that wait to be admitted."""

    next: int  # the first that is not admitted
    count: int
    payload: Bytes
    lasting: int
    types: Words
    keys: Words
    users: Words
    offsets: Words
    sizes: Words
    due: Words  # times before which they are not admitted


_COLUMNS: Final = (
    Submissions.types,
    Submissions.keys,
    Submissions.users,
    Submissions.offsets,
    Submissions.sizes,
    Submissions.due,
)


@native
def refused(offered: Submissions, count: int, kinds: int, stride: int, room: int) -> int:
    """Index of the first invalid request (unknown type, too long, beyond its payload's ``room`` bytes) or ``count``."""
    types = offered.types
    offsets = offered.offsets
    sizes = offered.sizes
    for i in range(count):
        if types[i] < 0 or types[i] >= kinds or sizes[i] < 0 or sizes[i] > stride:
            return i
        if offsets[i] < 0 or offsets[i] > room - sizes[i]:
            return i
    return count


@cache
def _refused() -> Callable[..., int]:
    return machine(refused)["refused"]


_NEXT: Final = offset(Submissions.next)
_COUNT: Final = offset(Submissions.count)
_PAYLOAD: Final = offset(Submissions.payload)
_LASTING: Final = offset(Submissions.lasting)


class SubmissionQueue:
    """Queue with room for ``rows`` requests of at most ``stride`` bytes, of ``types`` types."""

    def __init__(self, rows: int, types: int, stride: int) -> None:
        """Create an empty queue."""
        self._types, self._stride = types, stride
        self._columns = np.zeros((6, rows + _STAGGER), np.int64)
        self._held = RecordArrays(Submissions)
        self._words, self.address = self._held.fields.words, self._held.address
        for field, column in zip(_COLUMNS, self._columns, strict=True):
            self._held.give(field, column)
        self._lasting: dict[int, of.Bytes] = {}
        self._payload: of.Bytes | None = None
        self._whole: of.Bytes = np.zeros(0, np.uint8)
        self._refused = _refused()

    @property
    def left(self) -> int:
        """Number of requests that are not admitted yet."""
        return int(self._words[_COUNT] - self._words[_NEXT])

    def take(self, batch: of.RequestBatch, users: of.Words, most: int, due_ns: of.Words | None = None) -> int:
        """Take the first ``most`` requests of a batch in place of any left over; returns how many there are.

        Args:
            batch: the requests.
            users: words that come back with the completions.
            most: number of requests, at most the number of rows.
            due_ns: times before which requests are not admitted, in ascending order.

        Raises:
            OfframpError: no such type, a message that is too long or not in the payload: nothing is taken.
        """
        types, keys, payload, offsets, sizes, lasts = batch
        if not len(types) == len(keys) == len(users) == len(offsets) == len(sizes):
            raise OfframpError("requests: expected as many keys, user words and places as types")
        self.clear()
        count = min(len(types), most)
        if not count:
            return 0
        if due_ns is None:
            self._columns[-1, :count] = 0
        else:
            self._columns[-1, :count] = due_ns[:count]
        for column, words in zip(self._columns, (types, keys, users, offsets, sizes), strict=False):
            column[:count] = words[:count]
        first = self._refused(self.address, count, self._types, self._stride, payload.size)
        if first != count:
            raise self._error(first, payload.size)
        self._set_payload(payload, lasts=lasts)
        self._words[_COUNT] = count
        return count

    def clear(self) -> None:
        """Drop the remaining requests."""
        self._words[_NEXT] = self._words[_COUNT] = 0

    def _set_payload(self, payload: of.Bytes, *, lasts: bool) -> None:
        if payload is not self._payload:
            self._whole = np.ascontiguousarray(payload)  # not before the next batch may its memory be given back
            self._payload = payload if self._whole is payload else None
            self._words[_PAYLOAD] = self._whole.ctypes.data
        self._words[_LASTING] = lasts
        if lasts:
            self._lasting[self._whole.ctypes.data] = self._whole  # views of one memory are one payload

    def _error(self, number: int, room: int) -> OfframpError:
        kind, _, _, offset, size, _ = self._columns[:, number].tolist()
        if not 0 <= kind < self._types:
            return OfframpError(f"request of type {kind}: expected types 0 to {self._types - 1}")
        if not 0 <= size <= self._stride:
            return OfframpError(f"request of {size} bytes: the table has room for {self._stride}")
        return OfframpError(f"request: bytes {offset} to {offset + size} do not lie in the payload of {room}")
