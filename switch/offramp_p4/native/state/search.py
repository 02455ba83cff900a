# SPDX-License-Identifier: Apache-2.0
"""What finds the entries of a table: built and changed here, searched by machine code."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.state.context import Context, Words
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.patterns import PatternSearch
from offramp_p4.native.state.prefixes import PrefixSearch
from offramp_p4.native.state.searches import Entry, Search


def make_search(context: Context, words: int, key: KeyFormat) -> Search | None:
    """The search of a table whose words begin at ``words``; None for a table without keys."""
    if key.search == "none":
        return None
    if key.search == "exact":
        return ExactSearch(context, words, key)
    return PrefixSearch(context, words, key) if key.search == "prefix" else PatternSearch(context, words, key)


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

    wants_time = False

    def prepare(self) -> None:
        """Nothing takes long."""

    def publish(self) -> None:
        """Nothing has been prepared."""
