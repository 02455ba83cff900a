# SPDX-License-Identifier: Apache-2.0
"""A hash table that machine code looks up and the control plane changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.changes import LARGE, MARGIN
from offramp_p4.native.state.context import SwitchContext, Words, line_zeros
from offramp_p4.native.state.library import updates

_SMALLEST: Final = 4


def as_words(numbers: Iterable[int], words: int) -> Words:
    """Big numbers as rows of words, the lowest first."""
    raw = bytearray(b"".join([n.to_bytes(8 * words, "little") for n in numbers]))
    return np.frombuffer(raw, np.int64).reshape(-1, words)


class HashTable:
    """Keys of a fixed number of words to numbers from 1; at most every second slot is taken.

    ``base`` is where the context has a :class:`~offramp_p4.native.runtime.context.TableRecord`.
    """

    def __init__(self, context: SwitchContext, base: int, words: int) -> None:
        self._context, self._base, self._words = context, base, words
        self._calls: Any = updates()
        self.clear()

    def clear(self) -> None:
        """No keys."""
        self._ready: tuple[Words, int] | None = None
        self._show(self._empty(_SMALLEST), 0)

    def insert(self, keys: Words, numbers: Words) -> None:
        """Set the numbers of rows of keys."""
        self.reserve(len(keys))
        self._taken += self._calls.insert_all(*self._place, address(keys), self._words, address(numbers), len(keys))

    def remove(self, keys: Words) -> None:
        """Forget rows of keys."""
        self._calls.remove_all(*self._place, address(keys), self._words, len(keys))

    def find(self, key: Words) -> int:
        """The number of a key; 0 if there is none."""
        return int(self._calls.lookup(*self._place, address(key), self._words))

    @property
    def rows(self) -> Words:
        """A copy of the slots with a key: its words, then its number."""
        return self._slots[self._slots[:, -1] > 0]

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._slots.nbytes

    def reserve(self, more: int) -> None:
        """Reserve room for this many further keys."""
        if 2 * (self._taken + more) > len(self._slots):
            self._show(*self._larger(more))

    @property
    def wants_time(self) -> bool:
        """Whether :meth:`prepare` should make room for more keys."""
        return len(self._slots) > LARGE and 2 * (self._taken + MARGIN) > len(self._slots)

    def prepare(self) -> None:
        """Copy the keys to more slots, beside those in use; nothing changes meanwhile."""
        if self.wants_time:
            self._ready = self._larger(2 * MARGIN)

    def publish(self) -> None:
        """Use the slots that have been prepared."""
        ready, self._ready = self._ready, None
        if ready is not None:
            self._show(*ready)

    def _larger(self, more: int) -> tuple[Words, int]:
        """Larger slots with the same keys, and how many of them are taken."""
        old = address(self._slots), len(self._slots), self._words
        slots = self._empty(max(_SMALLEST, 1 << (2 * (self._calls.count_keys(*old) + more)).bit_length()))
        return slots, self._calls.rehash(address(slots), len(slots) - 1, *old)

    def _empty(self, size: int) -> Words:
        return line_zeros((size, self._words + 1), np.int64)

    @property
    def _place(self) -> tuple[int, int]:
        return address(self._slots), len(self._slots) - 1

    @property
    def _taken(self) -> int:
        return int(self._context.words[self._base + at.TableRecord.taken])

    @_taken.setter
    def _taken(self, slots: int) -> None:
        self._context.words[self._base + at.TableRecord.taken] = slots

    def _show(self, slots: Words, taken: int) -> None:
        self._slots, self._taken = slots, taken
        self._context.hold(self._base + offset(at.TableRecord.slots), self._slots)
        self._context.words[self._base + at.TableRecord.mask] = len(slots) - 1
