# SPDX-License-Identifier: Apache-2.0
"""The structure of an lpm table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from offramp_base.native.records import offset
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.prefixes import ROOT_LENGTH
from offramp_p4.native.state.context import Context, Words, address
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.library import updates
from offramp_p4.native.state.searches import Entry, enlarged
from offramp_p4.state import Any as AnyMatch
from offramp_p4.state import Lpm


class PrefixSearch:
    """By the first bits of an lpm key, then by hash for each longer prefix that there is."""

    def __init__(self, context: Context, words: int, key: KeyFormat) -> None:
        self._context, self._base, self._key = context, words, key
        self._hash = HashTable(context, words, key.words)
        self._calls: Any = updates()
        self._width = key.widths[key.prefix]
        self.clear(0)

    def clear(self, capacity: int) -> None:
        """No entries."""
        self._hash.clear()
        self._roots: dict[int, int] = {}
        self._root = np.zeros((1 << self._key.root_bits, self._key.row_words), np.int64)
        self._context.hold(self._base + offset(at.Table.root), self._root)
        self._lengths = np.zeros(capacity, np.uint8)
        self._context.hold(self._base + offset(at.Table.lengths), self._lengths)

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        self._lengths = enlarged(self._lengths, capacity)
        self._context.hold(self._base + offset(at.Table.lengths), self._lengths)

    def add(self, entries: Sequence[Entry], numbers: Words) -> None:
        """Find these entries, too."""
        keys = as_words([self._number(e) | self._length(e) << self._key.extra_at for e in entries], self._key.words)
        lengths = np.array([self._length(e) for e in entries], np.int64)
        self._lengths[numbers - 1] = lengths
        self._hash.insert(keys, numbers)
        for entry, key, length, number in zip(entries, keys, lengths.tolist(), numbers.tolist(), strict=True):
            self._calls.add_prefix(
                self._table, self._row(entry), address(key), self._width, self._key.root_bits, length, number
            )

    def remove(self, entry: Entry, number: int) -> None:
        """No longer find an entry."""
        length, plain = self._length(entry), self._number(entry)
        (key,) = as_words([plain | length << self._key.extra_at], self._key.words)
        self._hash.remove(key)
        (bare,), probe = as_words([plain], self._key.words), np.zeros(self._key.words, np.int64)
        self._calls.drop_prefix(
            self._table,
            self._row(entry),
            address(bare),
            address(probe),
            self._key.words,
            self._width,
            self._key.root_bits,
            length,
            self._key.extra_at,
            number,
        )

    @property
    def _table(self) -> int:
        return self._context.pointer + 8 * self._base

    def _length(self, entry: Entry) -> int:
        match = entry.keys[self._key.prefix]
        return match.prefix_len if isinstance(match, Lpm) else 0

    def _number(self, entry: Entry) -> int:
        return self._key.concatenate([0 if isinstance(k, AnyMatch) else k.value for k in entry.keys])  # type: ignore[union-attr]

    def _row(self, entry: Entry) -> int:
        """The address of the row of the root for the exact keys of an entry."""
        row = 0
        if self._key.exact:
            exact = self._number(entry) >> self._width
            row = self._roots.get(exact, -1)
            if row < 0:
                row = self._add_root(exact)
        return address(self._root) + 8 * row * self._key.row_words

    def _add_root(self, exact: int) -> int:
        row = self._roots[exact] = len(self._roots)
        if row >= len(self._root):
            self._root = enlarged(self._root, 2 * row)
            self._context.hold(self._base + offset(at.Table.root), self._root)
        key = as_words([exact << self._width | ROOT_LENGTH << self._key.extra_at], self._key.words)
        self._hash.insert(key, np.array([row + 1]))
        return row

    wants_time = False

    def prepare(self) -> None:
        """Nothing takes long."""

    def publish(self) -> None:
        """Nothing has been prepared."""
