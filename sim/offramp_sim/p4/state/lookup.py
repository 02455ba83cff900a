"""Look-up structures: a dictionary per prefix length for lpm, an ordered scan where priorities decide."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from offramp_sim.p4.state.match import Any, Exact, Lpm, Match, Optional, Range, Ternary, prefix_mask

if TYPE_CHECKING:
    from offramp_sim.p4.state.table import TableEntry

KINDS: Final = frozenset({"exact", "lpm", "ternary", "range", "optional"})
Lookup = Callable[[tuple[int, ...]], "TableEntry | None"]


def make_lookup(entries: Collection[TableEntry], kinds: Sequence[str], widths: Sequence[int]) -> Lookup:
    """The function that finds the winning entry, for tables whose keys are not all exact."""
    if not set(kinds) <= {"exact", "lpm"}:
        return _scan(entries, widths)
    return _longest_prefix(entries, kinds.index("lpm"), widths)


def _longest_prefix(entries: Collection[TableEntry], at: int, widths: Sequence[int]) -> Lookup:
    tables: dict[int, dict[tuple[int, ...], TableEntry]] = {}
    for entry in entries:
        prefix = entry.keys[at]
        length = prefix.prefix_len if isinstance(prefix, Lpm) else 0
        key = tuple(0 if isinstance(k, Any) else k.value for k in entry.keys if not isinstance(k, Range))
        tables.setdefault(length, {})[key] = entry
    longest_first = [(prefix_mask(length, widths[at]), tables[length].get) for length in sorted(tables, reverse=True)]

    if len(widths) == 1:

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


def _value_mask(match: Match, width: int) -> tuple[int, int]:
    if isinstance(match, Exact | Optional):
        return match.value, (1 << width) - 1
    if isinstance(match, Lpm):
        return match.value, prefix_mask(match.prefix_len, width)
    if isinstance(match, Ternary):
        return match.value, match.mask
    return 0, 0  # ranges are checked apart


def _scan(entries: Collection[TableEntry], widths: Sequence[int]) -> Lookup:
    """Highest priority first; all keys of an entry are compared as one number, ranges apart."""
    rows = []
    for entry in sorted(entries, key=lambda e: -e.priority):
        value = mask = 0
        for match, width in zip(entry.keys, widths, strict=True):
            v, m = _value_mask(match, width)
            value, mask = value << width | v, mask << width | m
        ranges = [(i, k.low, k.high) for i, k in enumerate(entry.keys) if isinstance(k, Range)]
        rows.append((mask, value, ranges, entry))

    def find(values: tuple[int, ...]) -> TableEntry | None:
        key = 0
        for value, width in zip(values, widths, strict=True):
            key = key << width | value
        for mask, wanted, ranges, entry in rows:
            if key & mask == wanted and all(low <= values[i] <= high for i, low, high in ranges):
                return entry
        return None

    return find
