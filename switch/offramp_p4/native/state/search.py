# SPDX-License-Identifier: Apache-2.0
"""What finds the entries of a table: built and changed here, searched by machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from offramp_base.native.records import offset
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.prefixes import ROOT_LENGTH
from offramp_p4.native.state.context import Context, Words, address
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.library import updates
from offramp_p4.state import Any as AnyMatch
from offramp_p4.state import Lpm, Match, Range
from offramp_p4.state.lookup import value_mask

_SEQUENCE_BITS: Final = 32


class Entry(Protocol):
    """What a search needs of an entry."""

    keys: tuple[Match, ...]
    priority: int


class Search(Protocol):
    """Finds entries by number, from 1."""

    def clear(self, capacity: int) -> None:
        """No entries, and room for numbers up to ``capacity``."""

    def grow(self, capacity: int) -> None:
        """Room for numbers up to ``capacity``; all entries stay."""

    def add(self, entries: Sequence[Entry], numbers: Words) -> None:
        """Find these entries, too, which follow all others in the order of insertion."""

    def remove(self, entry: Entry, number: int) -> None:
        """No longer find an entry."""


def make_search(context: Context, words: int, key: KeyFormat) -> Search | None:
    """The search of a table whose words begin at ``words``; None for a table without keys."""
    if key.search == "none":
        return None
    if key.search == "exact":
        return ExactSearch(context, words, key)
    return PrefixSearch(context, words, key) if key.search == "prefix" else PatternSearch(context, words, key)


def enlarged(array: Words, rows: int) -> Words:
    """The same rows, and zeros behind them."""
    made = np.zeros((rows, *array.shape[1:]), np.int64)
    made[: len(array)] = array
    return made


class ExactSearch:
    """By hash of the whole key."""

    def __init__(self, context: Context, words: int, key: KeyFormat) -> None:
        self._key, self._hash = key, HashTable(context, words, key.words)

    def clear(self, capacity: int) -> None:
        """No entries."""
        del capacity
        self._hash.clear()

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        del capacity

    def _keys(self, entries: Sequence[Entry]) -> Words:
        concatenate = self._key.concatenate
        numbers = [concatenate([k.value for k in e.keys]) for e in entries]  # type: ignore[union-attr]
        return as_words(numbers, self._key.words)

    def add(self, entries: Sequence[Entry], numbers: Words) -> None:
        """Find these entries, too."""
        self._hash.insert(self._keys(entries), numbers)

    def remove(self, entry: Entry, number: int) -> None:
        """No longer find an entry."""
        del number
        self._hash.remove(self._keys([entry]))


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
        self._lengths = np.zeros(capacity, np.int64)
        self._context.hold(self._base + offset(at.Table.scores), self._lengths)

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        self._lengths = enlarged(self._lengths, capacity)
        self._context.hold(self._base + offset(at.Table.scores), self._lengths)

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


class _Pattern:
    """The entries with one mask."""

    def __init__(self, number: int, score: int) -> None:
        self.number, self.score = number, score


class PatternSearch:
    """By hash for each mask that there is; the entry with the highest score wins."""

    def __init__(self, context: Context, words: int, key: KeyFormat) -> None:
        self._context, self._base, self._key = context, words, key
        self._hash = HashTable(context, words, key.words)
        self._calls: Any = updates()
        self.clear(0)

    def clear(self, capacity: int) -> None:
        """No entries."""
        self._hash.clear()
        self._patterns: dict[int, _Pattern] = {}
        self._sequence = (1 << _SEQUENCE_BITS) - 1
        self._scores, self._next = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._ranges = np.zeros((0, len(self._key.ranges), 2), np.int64)
        self.grow(capacity)
        self._write_patterns()

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        self._scores, self._next = enlarged(self._scores, capacity), enlarged(self._next, capacity)
        self._ranges = enlarged(self._ranges, capacity)
        for word, array in (
            (offset(at.Table.scores), self._scores),
            (offset(at.Table.next), self._next),
            (offset(at.Table.ranges), self._ranges),
        ):
            self._context.hold(self._base + word, array)

    def add(self, entries: Sequence[Entry], numbers: Words) -> None:
        """Find these entries, too."""
        keys, changed = [], False
        for entry, number in zip(entries, numbers.tolist(), strict=True):
            value, mask = self._value_mask(entry)
            score = self._score(entry)
            pattern = self._patterns.get(mask)
            if pattern is None:
                pattern = self._patterns[mask] = _Pattern(len(self._patterns), score)
                changed = True
            elif score > pattern.score:
                pattern.score, changed = score, True
            keys.append(value | pattern.number << self._key.extra_at)
            self._scores[number - 1] = score
            for i, key in enumerate(self._key.ranges):
                match, top = entry.keys[key], (1 << self._key.widths[key]) - 1
                low, high = (match.low, match.high) if isinstance(match, Range) else (0, top)
                self._ranges[number - 1, i] = signed_word(low), signed_word(high)
        if not keys:
            return
        rows = as_words(keys, self._key.words)
        self._hash.reserve(len(rows))
        taken = self._calls.add_all_to_patterns(
            self._table, address(rows), self._key.words, address(numbers), len(rows)
        )
        self._hash.took(taken)
        if changed:
            self._write_patterns()

    def remove(self, entry: Entry, number: int) -> None:
        """No longer find an entry."""
        value, mask = self._value_mask(entry)
        rows = as_words([value | self._patterns[mask].number << self._key.extra_at], self._key.words)
        self._calls.drop_from_pattern(self._table, address(rows), self._key.words, number)

    @property
    def _table(self) -> int:
        return self._context.pointer + 8 * self._base

    def _value_mask(self, entry: Entry) -> tuple[int, int]:
        pairs = [value_mask(match, width) for match, width in zip(entry.keys, self._key.widths, strict=True)]
        concatenate = self._key.concatenate
        return concatenate([v for v, _ in pairs]), concatenate([m for _, m in pairs])

    def _score(self, entry: Entry) -> int:
        """Priority first, then the order of insertion. Entries without priorities are lpm: the longest wins."""
        lengths = (k.prefix_len for k in entry.keys if isinstance(k, Lpm))
        rank = entry.priority or sum(lengths)
        self._sequence -= 1
        return (rank << _SEQUENCE_BITS) + self._sequence

    def _write_patterns(self) -> None:
        ordered = sorted(self._patterns.items(), key=lambda item: -item[1].score)
        rows = np.zeros((len(ordered), 2 + self._key.words), np.int64)
        if ordered:
            rows[:, 0] = [p.score for _, p in ordered]
            rows[:, 1] = [p.number for _, p in ordered]
            rows[:, 2:] = as_words([mask for mask, _ in ordered], self._key.words)
        self._context.hold(self._base + offset(at.Table.patterns), rows)
        self._context.words[self._base + at.Table.pattern_count] = len(rows)


def signed_word(word: int) -> int:
    """An unsigned word as NumPy's int64 has it."""
    return word - (1 << 64) if word >> 63 else word
