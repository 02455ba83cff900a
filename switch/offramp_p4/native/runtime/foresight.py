# SPDX-License-Identifier: Apache-2.0
"""Hints for look-ups that are to come; see :mod:`offramp_p4.native.foresight`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, highest_bit, native, prefetch
from offramp_p4.native.runtime.context import TableRecord
from offramp_p4.native.runtime.hashtable import BESIDE, find, home, mixed
from offramp_p4.native.runtime.prefixes import masked, root_row

_SMALL: Final = 2048
"""Slots of a table that is in the cache anyway."""


@native
def hint_slot(table: TableRecord, key: Words, words: int) -> None:
    """The slot where the search for a key begins will be read."""
    if table.mask >= _SMALL:
        prefetch(table.slots + (home(key, words) & table.mask) * (words + 1))


@native
def hint_row(table: TableRecord, key: Words, words: int, row_size: int) -> None:
    """The row of the entry with this key will be read."""
    if table.mask >= _SMALL:
        number = find(table.slots, table.mask, key, words)
        prefetch(Words(int(table.rows) + number * row_size - row_size))


@native
def hint_root(table: TableRecord, key: Words, width: int, root_bits: int) -> None:
    """The row of the root for a key of an lpm table will be read."""
    if table.mask >= _SMALL:
        prefetch(root_row(table, key, width, root_bits))


@native
def hint_prefix(
    table: TableRecord, key: Words, probe: Words, words: int, width: int, root_bits: int, length_at: int
) -> None:
    """The slot where the search for the longest prefix that there may be begins will be read."""
    if table.mask < _SMALL:
        return
    sets = (width - root_bits + 63) // 64
    row = root_row(table, key, width, root_bits)
    for i in range(sets):
        lengths = row[sets - i]
        if lengths != 0:
            length = root_bits + 1 + 64 * (sets - 1 - i) + highest_bit(lengths)
            masked(probe, key, words, width, length, length_at)
            hint_slot(table, probe, words)
            return


@native
def next_row(table: TableRecord, key: Words, spare: Words, row_size: int) -> int:
    """The address of the row of a key of one word that is 1 larger; 0 if there is none, or the table is small."""
    if table.mask < _SMALL:
        return 0
    spare[0] = key[0] + 1
    number = find(table.slots, table.mask, spare, 1)
    if number == 0:
        return 0
    return int(table.rows) + (number - 1) * row_size


@native
def hint_line(place: int) -> None:
    """A line will be read."""
    prefetch(Words(place))


@native
def hint_next(table: TableRecord, key: Words, number: int, row_size: int) -> None:
    """The packet will come again with a key of one word that is 1 larger: so the next line of slots will be read."""
    if table.mask >= _SMALL and (key[0] & BESIDE) == 0:
        prefetch(table.slots + 2 * (mixed(key[0] + BESIDE + 1) & ~BESIDE & table.mask))
        prefetch(Words(int(table.rows) + (number + BESIDE) * row_size))
