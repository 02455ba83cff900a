# SPDX-License-Identifier: Apache-2.0
"""Entries of tables as bmv2 takes them: match keys of its JSON and of its command line, and its priorities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.state import Exact, Lpm, Match, Optional, Range, TableEntry, Ternary

if TYPE_CHECKING:
    from offramp_p4.state import TableState

_METERS: Final = ("meters", "psa_direct_meter", "pna_direct_meter")


def goes_into_json(state: TableState) -> bool:
    """Whether a table's entries can stand in bmv2's JSON, which gives it as many cells as entries.

    Those with direct meters, of which there are as many as the table's size says, take commands, and so do profiles.
    """
    return state.profile is None and not any(name in state.table.properties for name in _METERS)


def ranked(state: TableState) -> Iterator[tuple[TableEntry, int]]:
    """The entries with bmv2's priorities, of which the smallest wins."""
    highest = max((entry.priority for entry in state.entries), default=0)
    for entry in state.entries:
        yield entry, highest + 1 - entry.priority


def entry_keys(state: TableState, entry: TableEntry) -> list[dict[str, Any]]:
    """The ``match_key`` of an entry in bmv2's JSON."""
    return [_key(*key) for key in zip(entry.keys, state.kinds, state.widths, strict=True)]


def key_text(key: Mapping[str, Any]) -> str:
    """A part of a ``match_key`` as the command line takes it."""
    kind = key["match_type"]
    if kind == "range":
        return f"{key['start']}->{key['end']}"
    after = {"lpm": f"/{key.get('prefix_length')}", "ternary": f"&&&{key.get('mask')}"}
    return f"{key['key']}{after.get(kind, '')}"


def _key(match: Match, kind: str, width: int) -> dict[str, Any]:
    top = (1 << width) - 1

    def number(value: int) -> str:
        return f"0x{value:0{(width + 7) // 8 * 2}x}"

    if isinstance(match, Exact):
        return {"match_type": "exact", "key": number(match.value)}
    if kind == "lpm":
        value, length = (match.value, match.prefix_len) if isinstance(match, Lpm) else (0, 0)
        return {"match_type": "lpm", "key": number(value), "prefix_length": length}
    if kind == "range":
        low, high = (match.low, match.high) if isinstance(match, Range) else (0, top)
        return {"match_type": "range", "start": number(low), "end": number(high)}
    value, mask = 0, 0
    if isinstance(match, Ternary):
        value, mask = match.value, match.mask
    elif isinstance(match, Optional):
        value, mask = match.value, top
    return {"match_type": "ternary", "key": number(value), "mask": number(mask)}
