# SPDX-License-Identifier: Apache-2.0
"""A hash table that machine code looks up and the control plane changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.context import Context, Words, address
from offramp_p4.native.state.library import updates


def as_words(numbers: Iterable[int], words: int) -> Words:
    """Big numbers as rows of words, the lowest first."""
    raw = b"".join(n.to_bytes(8 * words, "little") for n in numbers)
    return np.frombuffer(raw, np.int64).reshape(-1, words)


class HashTable:
    """Keys of a fixed number of words to numbers from 1.

    ``base`` is where the context has SLOTS and MASK.
    """

    def __init__(self, context: Context, base: int, words: int) -> None:
        self._context, self._base, self._words = context, base, words
        self._calls = updates()
        self.clear()

    def clear(self) -> None:
        """No keys."""
        self._taken = 0
        self._resize(4)

    def insert(self, keys: Words, numbers: Words) -> None:
        """Set the numbers of rows of keys."""
        self._taken += self._calls.insert_all(
            *self.reserve(len(keys)), address(keys), self._words, address(numbers), len(keys)
        )

    def remove(self, key: Words) -> None:
        """Forget a key."""
        self._calls.remove(address(self._slots), len(self._slots) - 1, address(key), self._words)

    def reserve(self, more: int) -> tuple[int, int]:
        """Have room for so many more keys; returns address and mask."""
        if 2 * (self._taken + more) > len(self._slots):
            old = self._slots
            self._resize(1 << (4 * (self._taken + more)).bit_length())
            self._taken = self._calls.rehash(
                address(self._slots), len(self._slots) - 1, address(old), len(old), self._words
            )
        return address(self._slots), len(self._slots) - 1

    def took(self, slots: int) -> None:
        """Count slots that others have taken."""
        self._taken += slots

    def _resize(self, size: int) -> None:
        self._slots: Words = np.zeros((size, self._words + 1), np.int64)
        self._context.hold(self._base + offset(at.Table.slots), self._slots)
        self._context.words[self._base + at.Table.mask] = size - 1
