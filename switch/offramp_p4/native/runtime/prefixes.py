# SPDX-License-Identifier: Apache-2.0
"""Longest-prefix match: the first bits of a key pick a row that knows the lengths of the prefixes below it.

A row holds the best entry with a prefix no longer than the root, and a set of the lengths of longer ones. Those
are in the hash table of the whole table, by length and masked key; the longest that is there wins. Lengths of
prefixes that have gone may stay in the set: they cost a look-up and find nothing.

Keys are ``words`` words with the lpm key in the lowest bits and the length at bit ``length_at``. Tables that also
have exact keys have a root of 0 bits for each combination of those; it is in the hash table under length 255.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Words, highest_bit, inlined, native
from offramp_p4.native.runtime.context import TableRecord
from offramp_p4.native.runtime.hashtable import find, insert, remove

ROOT_LENGTH: Final = 255


@inlined
def masked(into: Words, key: Words, words: int, width: int, length: int, length_at: int) -> None:
    """Write the key of the prefix of ``length`` bits."""
    cut = width - length
    for i in range(words):
        word = key[i]
        low = cut - 64 * i
        if low >= 64:
            word = 0
        elif low > 0:
            word = (word >> low) << low
        into[i] = word
    into[length_at // 64] = into[length_at // 64] | (length << (length_at & 63))


@inlined
def root_row(table: TableRecord, key: Words, width: int, root_bits: int) -> Words:
    """The row of the root for a key, in a table without exact keys."""
    first = 0
    if root_bits > 0:
        first = _first_bits(key, width, root_bits)
    return table.root + first * ((width - root_bits + 63) // 64 + 1)


@inlined
def find_longest(
    table: TableRecord, key: Words, probe: Words, words: int, width: int, root_bits: int, exact: int, length_at: int
) -> int:
    """The entry with the longest prefix of ``key``; ``probe`` is scratch space of as many words."""
    slots = table.slots
    sets = (width - root_bits + 63) // 64
    if exact != 0:
        masked(probe, key, words, width, 0, length_at)
        probe[length_at // 64] = probe[length_at // 64] | (ROOT_LENGTH << (length_at & 63))
        number = find(slots, table.mask, probe, words)
        if number == 0:
            return 0
        row = table.root + (number - 1) * (sets + 1)
    else:
        row = root_row(table, key, width, root_bits)
    for i in range(sets):
        lengths = row[sets - i]
        while lengths != 0:
            bit = highest_bit(lengths)
            masked(probe, key, words, width, root_bits + 1 + 64 * (sets - 1 - i) + bit, length_at)
            number = find(slots, table.mask, probe, words)
            if number != 0:
                return number
            lengths = lengths ^ (1 << bit)
    return row[0]


@inlined
def _first_bits(key: Words, width: int, root_bits: int) -> int:
    below = width - root_bits
    first = key[below // 64] >> (below & 63)
    if (below & 63) + root_bits > 64:
        first = first | (key[below // 64 + 1] << (64 - (below & 63)))
    return first & ((1 << root_bits) - 1)


@native
def add_prefixes(
    table: TableRecord,
    keys: Words,
    lengths: Bytes,
    entries: Words,
    count: int,
    probe: Words,
    words: int,
    width: int,
    root_bits: int,
    exact: int,
    length_at: int,
) -> int:
    """Enter entries with these prefixes, only whose first bits count, until one exists already.

    There is room for all, in the hash table and the root. Returns how many were entered.
    """
    for i in range(count):
        key = keys + i * words
        masked(key, key, words, width, lengths[i], length_at)
        if find(table.slots, table.mask, key, words) != 0:
            return i
        table.taken = table.taken + insert(table.slots, table.mask, key, words, entries[i])
        (table.lengths + (entries[i] - 1))[0] = lengths[i]
        row = _row(table, key, probe, words, width, root_bits, exact, length_at)
        _note_prefix(table, row, width, root_bits, lengths[i], entries[i])
    return count


@native
def drop_prefixes(
    table: TableRecord,
    keys: Words,
    lengths: Bytes,
    entries: Words,
    count: int,
    probe: Words,
    words: int,
    width: int,
    root_bits: int,
    exact: int,
    length_at: int,
) -> int:
    """Forget entries; returns how many."""
    sets = (width - root_bits + 63) // 64
    for i in range(count):
        key = keys + i * words
        length = lengths[i]
        masked(key, key, words, width, length, length_at)
        remove(table.slots, table.mask, key, words)
        if length <= root_bits:
            heir = 0
            shorter = length - 1
            key[length_at // 64] = key[length_at // 64] ^ (length << (length_at & 63))
            while shorter >= 0 and heir == 0:
                masked(probe, key, words, width, shorter, length_at)
                heir = find(table.slots, table.mask, probe, words)
                shorter -= 1
            row = _row(table, key, probe, words, width, root_bits, exact, length_at)
            for _ in range(1 << (root_bits - length)):
                if row[0] == entries[i]:
                    row[0] = heir
                row = row + (sets + 1)
    return count


@native
def _row(
    table: TableRecord, key: Words, probe: Words, words: int, width: int, root_bits: int, exact: int, length_at: int
) -> Words:
    """The first row of the root for a key; for exact keys that are new it is made."""
    sets = (width - root_bits + 63) // 64
    if exact == 0:
        return root_row(table, key, width, root_bits)
    masked(probe, key, words, width, 0, length_at)
    # A key with its length has some bits of ROOT_LENGTH already, which has all.
    probe[length_at // 64] = probe[length_at // 64] | (ROOT_LENGTH << (length_at & 63))
    number = find(table.slots, table.mask, probe, words)
    if number == 0:
        number = table.roots + 1
        table.roots = number
        table.taken = table.taken + insert(table.slots, table.mask, probe, words, number)
    return table.root + (number - 1) * (sets + 1)


@native
def _note_prefix(table: TableRecord, row: Words, width: int, root_bits: int, length: int, entry: int) -> None:
    """Note a prefix in the root, from the first of its rows."""
    sets = (width - root_bits + 63) // 64
    if length > root_bits:
        bit = length - root_bits - 1
        at = row + (1 + bit // 64)
        at[0] = at[0] | (1 << (bit & 63))
        return
    for _ in range(1 << (root_bits - length)):
        if row[0] == 0 or table.lengths[row[0] - 1] <= length:
            row[0] = entry
        row = row + (sets + 1)
