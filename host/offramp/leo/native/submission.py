# SPDX-License-Identifier: Apache-2.0
"""Requests that are offered and not admitted yet, checked and copied to where compiled code takes them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from offramp.leo.native import batch as of
from offramp.leo.native.machine import address, machine
from offramp_base.errors import OfframpError
from offramp_base.native.subset import Words, native

# An intake's words.
NEXT: Final = 0  # the first that is not admitted
COUNT: Final = 1
PAYLOAD: Final = 2  # address
LASTING: Final = 3
COLUMNS: Final = 4  # addresses of types, keys, user words, offsets, sizes, times at which they are due
INTAKE_WORDS: Final = 10
_STAGGER: Final = 40
"""Words between columns: the same rows of columns a power of two apart would lie in one set of the caches."""
TYPE, KEY, USER, OFFSET, SIZE, DUE = range(6)


@native
def refused(columns: Words, count: int, kinds: int, stride: int, room: int) -> int:
    """The first request that cannot be: of no type, too long, or beyond its payload's ``room`` bytes; or ``count``."""
    types = Words(columns[TYPE])
    offsets = Words(columns[OFFSET])
    sizes = Words(columns[SIZE])
    for i in range(count):
        if types[i] < 0 or types[i] >= kinds or sizes[i] < 0 or sizes[i] > stride:
            return i
        if offsets[i] < 0 or offsets[i] > room - sizes[i]:
            return i
    return count


@cache
def _refused() -> Callable[..., int]:
    return machine(refused)["refused"]


class SubmissionQueue:
    """Room for ``rows`` requests of at most ``stride`` bytes, of so many types."""

    def __init__(self, rows: int, types: int, stride: int) -> None:
        """Empty."""
        self._types, self._stride = types, stride
        self._columns = np.zeros((6, rows + _STAGGER), np.int64)
        self._words = np.zeros(INTAKE_WORDS, np.int64)
        self._words[COLUMNS:] = [address(column) for column in self._columns]
        self.address = address(self._words)
        self._lasting: dict[int, of.Bytes] = {}
        self._payload: of.Bytes | None = None
        self._whole: of.Bytes = np.zeros(0, np.uint8)
        self._refused = _refused()

    @property
    def left(self) -> int:
        """Requests that are not admitted yet."""
        return int(self._words[COUNT] - self._words[NEXT])

    def take(self, batch: of.Batch, users: of.Words, most: int, due_ns: of.Words | None = None) -> int:
        """The first ``most`` requests of a batch, in place of what was left; returns how many there are.

        Args:
            batch: the requests.
            users: words that come back with the completions.
            most: at most as many as there are rows.
            due_ns: not before these times is each to be admitted; rising.

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
            self._columns[DUE, :count] = 0
        else:
            self._columns[DUE, :count] = due_ns[:count]
        for column, words in zip(self._columns, (types, keys, users, offsets, sizes), strict=False):
            column[:count] = words[:count]
        first = self._refused(self.address + 8 * COLUMNS, count, self._types, self._stride, payload.size)
        if first != count:
            raise self._error(first, payload.size)
        self._set_payload(payload, lasts=lasts)
        self._words[COUNT] = count
        return count

    def clear(self) -> None:
        """Forget what is left."""
        self._words[NEXT] = self._words[COUNT] = 0

    def _set_payload(self, payload: of.Bytes, *, lasts: bool) -> None:
        if payload is not self._payload:
            self._whole = np.ascontiguousarray(payload)  # not before the next batch may its memory be given back
            self._payload = payload if self._whole is payload else None
            self._words[PAYLOAD] = address(self._whole)
        self._words[LASTING] = lasts
        if lasts:
            self._lasting[int(self._words[PAYLOAD])] = self._whole  # views of one memory are one payload

    def _error(self, number: int, room: int) -> OfframpError:
        kind, _, _, offset, size, _ = self._columns[:, number].tolist()
        if not 0 <= kind < self._types:
            return OfframpError(f"request of type {kind}: expected types 0 to {self._types - 1}")
        if not 0 <= size <= self._stride:
            return OfframpError(f"request of {size} bytes: the table has room for {self._stride}")
        return OfframpError(f"request: bytes {offset} to {offset + size} do not lie in the payload of {room}")
