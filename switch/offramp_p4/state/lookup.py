# SPDX-License-Identifier: Apache-2.0
"""Look-up structures: a dictionary per prefix length for lpm, an ordered scan where priorities decide."""

from __future__ import annotations

from bisect import bisect_left, insort_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from offramp_p4.state.match import Any, Exact, Lpm, Match, Optional, Range, Ternary, prefix_mask

if TYPE_CHECKING:
    from offramp_p4.state.table import TableEntry

KINDS: Final = frozenset({"exact", "lpm", "ternary", "range", "optional"})
Lookup = Callable[[tuple[int, ...]], "TableEntry | None"]


class Finder(Protocol):
    """A look-up structure.

    It may be asked from one thread while another one changes it: what is asked is never changed in place where that
    could hide an entry, but replaced.

    Attributes:
        find: function from the key values to the winning entry; another one after each change.
    """

    find: Lookup

    def add(self, entry: TableEntry) -> None:
        """Find this entry, too, which follows all others in the order of insertion."""

    def remove(self, entry: TableEntry) -> None:
        """Remove an entry from the index."""


def make_finder(entries: Iterable[TableEntry], kinds: Sequence[str], widths: Sequence[int]) -> Finder:
    """The finder of the winning entry of tables whose keys are not all exact."""
    if not set(kinds) <= {"exact", "lpm"}:
        return _Scan(entries, widths)
    return _LongestPrefix(entries, kinds.index("lpm"), widths)


class _LongestPrefix:
    """A dictionary for each length of prefix."""

    def __init__(self, entries: Iterable[TableEntry], at: int, widths: Sequence[int]) -> None:
        self._at, self._widths = at, widths
        self._tables: dict[int, dict[tuple[int, ...], TableEntry]] = {}
        for entry in entries:
            self._tables.setdefault(self._length(entry), {})[self._key(entry)] = entry
        self.find = self._finder()

    def add(self, entry: TableEntry) -> None:
        table = self._tables.get(self._length(entry))
        if table is not None:
            table[self._key(entry)] = entry
            return
        self._tables[self._length(entry)] = {self._key(entry): entry}
        self.find = self._finder()

    def remove(self, entry: TableEntry) -> None:
        length = self._length(entry)
        del self._tables[length][self._key(entry)]
        if not self._tables[length]:
            del self._tables[length]
            self.find = self._finder()

    def _length(self, entry: TableEntry) -> int:
        prefix = entry.keys[self._at]
        return prefix.prefix_len if isinstance(prefix, Lpm) else 0

    def _key(self, entry: TableEntry) -> tuple[int, ...]:
        return tuple(0 if isinstance(k, Any) else k.value for k in entry.keys if not isinstance(k, Range))

    def _finder(self) -> Lookup:
        at, tables = self._at, self._tables
        width = self._widths[at]
        longest_first = [(prefix_mask(length, width), tables[length].get) for length in sorted(tables, reverse=True)]

        if len(self._widths) == 1:

            def find_one(values: tuple[int, ...]) -> TableEntry | None:
                (value,) = values
                for mask, get in longest_first:
                    entry = get((value & mask,))
                    if entry is not None:
                        return entry
                return None

            return find_one

        def find(values: tuple[int, ...]) -> TableEntry | None:
            before, value, after = values[:at], values[at], values[at + 1 :]
            for mask, get in longest_first:
                entry = get((*before, value & mask, *after))
                if entry is not None:
                    return entry
            return None

        return find


_Row = tuple[int, int, list[tuple[int, int, int]], "TableEntry"]


class _Scan:
    """Highest priority first; all keys of an entry are compared as one number, ranges apart."""

    def __init__(self, entries: Iterable[TableEntry], widths: Sequence[int]) -> None:
        self._widths = widths
        self._rows = [self._row(entry) for entry in sorted(entries, key=lambda e: -e.priority)]
        self.find = self._finder()

    def add(self, entry: TableEntry) -> None:
        rows = self._rows.copy()
        insort_right(rows, self._row(entry), key=_rank)
        self._replace(rows)

    def remove(self, entry: TableEntry) -> None:
        at = bisect_left(self._rows, -entry.priority, key=_rank)
        while self._rows[at][3] is not entry:
            at += 1
        self._replace(self._rows[:at] + self._rows[at + 1 :])

    def _replace(self, rows: list[_Row]) -> None:
        self._rows = rows
        self.find = self._finder()

    def _row(self, entry: TableEntry) -> _Row:
        value = mask = 0
        for match, width in zip(entry.keys, self._widths, strict=True):
            v, m = value_mask(match, width)
            value, mask = value << width | v, mask << width | m
        ranges = [(i, k.low, k.high) for i, k in enumerate(entry.keys) if isinstance(k, Range)]
        return mask, value, ranges, entry

    def _finder(self) -> Lookup:
        rows, widths = self._rows, self._widths

        def find(values: tuple[int, ...]) -> TableEntry | None:
            key = 0
            for value, width in zip(values, widths, strict=True):
                key = key << width | value
            for mask, wanted, ranges, entry in rows:
                if key & mask == wanted and all(low <= values[i] <= high for i, low, high in ranges):
                    return entry
            return None

        return find


def _rank(row: _Row) -> int:
    return -row[3].priority


def value_mask(match: Match, width: int) -> tuple[int, int]:
    """The bits that a match wants and which ones it looks at."""
    form = type(match)
    if form is Ternary:
        return match.value, match.mask  # type: ignore[union-attr]
    if form is Exact or form is Optional:
        return match.value, (1 << width) - 1  # type: ignore[union-attr]
    if form is Lpm:
        return match.value, prefix_mask(match.prefix_len, width)  # type: ignore[union-attr]
    return 0, 0  # ranges are checked apart
