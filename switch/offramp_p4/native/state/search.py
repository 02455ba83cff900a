# SPDX-License-Identifier: Apache-2.0
"""Search structures of tables: built and changed here, searched by machine code."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_base.native.arrays import address
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.state.context import Bytes, SwitchContext, Words
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.library import updates
from offramp_p4.native.state.patterns import PatternSearch
from offramp_p4.native.state.prefixes import PrefixSearch
from offramp_p4.native.state.searches import EntrySearch, SearchEntry
from offramp_p4.state import Exact, Match


def make_search(context: SwitchContext, words: int, key: KeyFormat) -> EntrySearch | None:
    """The search of a table whose words begin at ``words``; None for a table without keys."""
    if key.search == "none":
        return None
    if key.search == "exact":
        return ExactSearch(context, words, key)
    return PrefixSearch(context, words, key) if key.search == "prefix" else PatternSearch(context, words, key)


class ExactSearch:
    """Finds an entry by hash of its whole key."""

    def __init__(self, context: SwitchContext, words: int, key: KeyFormat) -> None:
        self._context, self._base, self._key = context, words, key
        self._hash = HashTable(context, words, key.words)

    def clear(self, capacity: int) -> None:
        """No entries."""
        del capacity
        self._hash.clear()

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        del capacity

    def add(self, entries: Sequence[SearchEntry], numbers: Words) -> None:
        """Find these entries, too."""
        self._hash.insert(self._rows([e.keys for e in entries]), numbers)

    def remove(self, entry: SearchEntry, number: int) -> None:
        """Remove an entry from the index."""
        del number
        self._hash.remove(self._rows([entry.keys]))

    def add_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> int:
        """Find entries by rows of words until one is there already; returns how many."""
        del lengths
        self._hash.reserve(len(keys))
        table = self._context.pointer + 8 * self._base
        return int(updates().insert_new(table, address(keys), self._key.words, address(numbers), len(keys)))

    def remove_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> None:
        """Remove these entries from the index."""
        del lengths, numbers
        self._hash.remove(keys)

    def find(self, keys: tuple[Match, ...]) -> int:
        """The number of the entry with these keys; 0 if there is none."""
        return self._hash.find(self._rows([keys]))

    def listed(self) -> tuple[Words, Words]:
        """All entries: their keys as rows of words, and their numbers."""
        rows = self._hash.rows
        return rows[:, :-1], rows[:, -1]

    def matches(self, row: Words) -> tuple[Match, ...]:
        """The keys of a row of words."""
        return tuple(Exact(value) for value in self._key.divide(int.from_bytes(row.tobytes(), "little")))

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._hash.nbytes

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

    def _rows(self, entries: Sequence[tuple[Match, ...]]) -> Words:
        concatenate = self._key.concatenate
        return as_words([concatenate([k.value for k in keys]) for keys in entries], self._key.words)  # type: ignore[union-attr]
