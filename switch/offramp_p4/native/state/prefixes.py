# SPDX-License-Identifier: Apache-2.0
"""The structure of an lpm table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.prefixes import ROOT_LENGTH
from offramp_p4.native.state.context import Bytes, SwitchContext, Words
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.library import updates
from offramp_p4.native.state.searches import SearchEntry, enlarged
from offramp_p4.state import ANY, Exact, Lpm, Match
from offramp_p4.state import Any as AnyMatch


class PrefixSearch:
    """Finds an lpm entry by the first bits of its key, then by hash for each longer prefix length in use."""

    def __init__(self, context: SwitchContext, words: int, key: KeyFormat) -> None:
        self._context, self._base, self._key = context, words, key
        self._hash = HashTable(context, words, key.words)
        self._calls: Any = updates()
        self._probe = np.zeros(key.words, np.int64)
        self._shape = (
            address(self._probe),
            key.words,
            key.widths[key.prefix],
            key.root_bits,
            int(key.exact),
            key.extra_at,
        )
        self.clear(0)

    def clear(self, capacity: int) -> None:
        """No entries."""
        self._hash.clear()
        self._lengths: Bytes = np.zeros(0, np.uint8)
        self._hold_root(np.zeros((1 << self._key.root_bits, self._key.row_words), np.int64))
        self._context.words[self._base + at.TableRecord.roots] = 0
        self.grow(capacity)

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        self._lengths = enlarged(self._lengths, capacity)
        self._context.hold(self._base + offset(at.TableRecord.lengths), self._lengths)

    def add(self, entries: Sequence[SearchEntry], numbers: Words) -> None:
        """Find these entries, too."""
        keys, lengths = self._rows(entries)
        added = self.add_rows(keys, lengths, numbers)
        assert added == len(entries), "an entry is there already"

    def remove(self, entry: SearchEntry, number: int) -> None:
        """Remove an entry from the index."""
        self.remove_rows(*self._rows([entry]), np.array([number], np.int64))

    def add_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> int:
        """Find entries by rows of words and lengths of prefixes until one is there already; returns how many.

        The words behind the prefixes are set to 0.
        """
        count = len(keys)
        self._hash.reserve(2 * count if self._key.exact else count)
        if self._key.exact and self._roots + count > len(self._root):
            self._hold_root(enlarged(self._root, max(2 * len(self._root), self._roots + count)))
        return self._change(self._calls.add_prefixes, keys, lengths, numbers)

    def remove_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> None:
        """Remove these entries from the index."""
        self._change(self._calls.drop_prefixes, keys, lengths, numbers)

    def find(self, keys: tuple[Match, ...]) -> int:
        """The number of the entry with these keys; 0 if there is none."""
        (row,) = as_words([self._number(keys) | _length(keys[self._key.prefix]) << self._key.extra_at], self._key.words)
        return self._hash.find(row)

    def listed(self) -> tuple[Words, Words]:
        """All entries: their keys as rows of words, and their numbers."""
        rows = self._hash.rows
        if self._key.exact:
            word, shift = divmod(self._key.extra_at, 64)
            rows = rows[(rows[:, word] >> shift) & ROOT_LENGTH != ROOT_LENGTH]
        return rows[:, :-1], rows[:, -1]

    def matches(self, row: Words) -> tuple[Match, ...]:
        """The keys of a row of words."""
        number = int.from_bytes(row.tobytes(), "little")
        length = number >> self._key.extra_at & ROOT_LENGTH
        keys: list[Match] = []
        for i, value in enumerate(self._key.divide(number)):
            if i == self._key.prefix:
                keys.append(Lpm(value, length) if length else ANY)
            else:
                keys.append(Exact(value))
        return tuple(keys)

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._hash.nbytes + self._root.nbytes + self._lengths.nbytes

    @property
    def wants_time(self) -> bool:
        """Whether the hash table needs more room."""
        return self._hash.wants_time

    def prepare(self, capacity: int) -> None:
        """Enlarge the structure to this capacity."""
        del capacity
        self._hash.prepare()

    def publish(self) -> None:
        """Use the structure that has been prepared."""
        self._hash.publish()

    def _change(self, call: Any, keys: Words, lengths: Bytes, numbers: Words) -> int:
        table = self._context.pointer + 8 * self._base
        return int(call(table, address(keys), address(lengths), address(numbers), len(keys), *self._shape))

    def _rows(self, entries: Sequence[SearchEntry]) -> tuple[Words, Bytes]:
        lengths = [_length(e.keys[self._key.prefix]) for e in entries]
        return as_words([self._number(e.keys) for e in entries], self._key.words), np.array(lengths, np.uint8)

    def _number(self, keys: tuple[Match, ...]) -> int:
        return self._key.concatenate([0 if isinstance(k, AnyMatch) else k.value for k in keys])  # type: ignore[union-attr]

    @property
    def _roots(self) -> int:
        return int(self._context.words[self._base + at.TableRecord.roots])

    def _hold_root(self, root: npt.NDArray[np.int64]) -> None:
        self._root = root
        self._context.hold(self._base + offset(at.TableRecord.root), root)


def _length(match: Match) -> int:
    return match.prefix_len if isinstance(match, Lpm) else 0
