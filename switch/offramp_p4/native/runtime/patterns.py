# SPDX-License-Identifier: Apache-2.0
"""Ternary match: hash tables by common bits of masks, and sets of bits for the entries that have none in common.

An entry has a record of words: its score, the entry that follows it in its chain, where it is, the bits that it
wants, its mask, and the bounds of each range key. Of the entries that match the one with the highest score wins.

A hash table (a *tuple*) has a mask that is part of the masks of all its entries, as in tuple space search (Srinivasan,
Suri, Varghese: Packet Classification Using Tuple Space Search, SIGCOMM 1999) with relaxed tuples (Daly et al.:
TupleMerge, IEEE/ACM ToN 2019). A slot leads to a chain of some entries at most, in falling order of their scores; all
are compared whole, so keys with the same hash need not be told apart. Which masks there are is decided when the
structure is built (:mod:`offramp_p4.native.runtime.masks`). Entries that suit none of the tuples, or find their chains
full, are in blocks (:mod:`offramp_p4.native.runtime.blocksets`).
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, inlined, native
from offramp_p4.native.runtime.blocksets import find_in_blocks, put_into_blocks, take_from_block
from offramp_p4.native.runtime.context import Patterns, TableRecord
from offramp_p4.native.runtime.entries import LONGEST, LOWEST, NEXT, PLACE, SCORE, VALUE, matches, record_words

# Words of a row of a tuple, before its mask.
HEADS: Final = 0  # address of the chains' first entries
SLOTS: Final = 1  # how many less 1
TOP: Final = 2  # no entry has a higher score
TUPLE_HEAD: Final = 3
_SEED: Final = 0x9E3779B97F4A7C15
_FACTOR: Final = 0xFF51AFD7ED558CCD


@inlined
def _slot(row: Words, key: Words, words: int) -> Words:
    """The slot of a tuple for a key."""
    h = _SEED
    for i in range(words):
        h = (h ^ (key[i] & row[TUPLE_HEAD + i])) * _FACTOR
        h = h ^ (h >> 32)
    return Words(row[HEADS]) + (h & row[SLOTS])


@inlined
def find_best(table: TableRecord, key: Words, values: Words, scratch: Words, words: int, ranges: int) -> int:
    """The entry with the highest score that matches; ``values`` are those of the range keys.

    ``scratch`` has room for the words of a set.
    """
    patterns = table.patterns
    size = record_words(words, ranges)
    best = 0
    best_score = LOWEST
    row = patterns.tuples
    for _ in range(patterns.tuple_count):
        if row[TOP] > best_score:
            number = _slot(row, key, words)[0]
            while number != 0:
                entry = patterns.entries + (number - 1) * size
                if entry[SCORE] <= best_score:
                    break
                if matches(entry, key, values, words, ranges) != 0:
                    best = number
                    best_score = entry[SCORE]
                    break
                number = entry[NEXT]
        row = row + (TUPLE_HEAD + words)
    if patterns.block_count != 0:
        best = find_in_blocks(patterns, key, values, scratch, best, best_score)
    return best


@native
def _put_into_tuple(patterns: Patterns, row: Words, number: int) -> int:
    """Enter an entry into a tuple; 0: its mask does not suit, or its chain is full."""
    words = patterns.key_words
    size = record_words(words, patterns.ranges)
    entry = patterns.entries + (number - 1) * size
    for i in range(words):
        if row[TUPLE_HEAD + i] & (entry[VALUE + words + i] ^ -1) != 0:
            return 0
    link = _slot(row, entry + VALUE, words)
    following = link[0]
    length = 0
    while following != 0:
        length += 1
        if length >= LONGEST:
            return 0
        other = patterns.entries + (following - 1) * size
        if other[SCORE] > entry[SCORE]:
            link = other + NEXT
        following = other[NEXT]
    entry[NEXT] = link[0]
    link[0] = number
    if entry[SCORE] > row[TOP]:
        row[TOP] = entry[SCORE]
    return 1


@native
def fill_tuple(patterns: Patterns, number: int, entries: Words, count: int) -> int:
    """Move the entries that a tuple takes into it; the others are left in front. Returns how many these are."""
    row = patterns.tuples + number * (TUPLE_HEAD + patterns.key_words)
    size = record_words(patterns.key_words, patterns.ranges)
    left = 0
    for i in range(count):
        if _put_into_tuple(patterns, row, entries[i]) != 0:
            (patterns.entries + (entries[i] - 1) * size)[PLACE] = -1 - number
        else:
            entries[left] = entries[i]
            left += 1
    return left


@native
def add_patterns(patterns: Patterns, entries: Words, count: int) -> int:
    """Find these entries, too; returns how many were added before no block was left."""
    size = record_words(patterns.key_words, patterns.ranges)
    for i in range(count):
        row = patterns.tuples
        done = 0
        for number in range(patterns.tuple_count):
            if done == 0 and _put_into_tuple(patterns, row, entries[i]) != 0:
                (patterns.entries + (entries[i] - 1) * size)[PLACE] = -1 - number
                done = 1
            row = row + (TUPLE_HEAD + patterns.key_words)
        if done == 0 and put_into_blocks(patterns, entries[i]) == 0:
            return i
    return count


@native
def drop_pattern(patterns: Patterns, number: int) -> int:
    """Remove an entry from the index."""
    size = record_words(patterns.key_words, patterns.ranges)
    entry = patterns.entries + (number - 1) * size
    if entry[PLACE] >= 0:
        take_from_block(patterns, entry[PLACE])
        return 0
    row = patterns.tuples + (-1 - entry[PLACE]) * (TUPLE_HEAD + patterns.key_words)
    link = _slot(row, entry + VALUE, patterns.key_words)
    while link[0] != number:
        link = patterns.entries + ((link[0] - 1) * size + NEXT)
    link[0] = entry[NEXT]
    return 0
