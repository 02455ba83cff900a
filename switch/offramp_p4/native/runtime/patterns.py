# SPDX-License-Identifier: Apache-2.0
"""Ternary match by tuple-space search: entries with the same mask share a pattern, and are found by hash.

A pattern is a row of words: the highest score of its entries, its number, the mask. The hash table maps the
pattern's number (at bit ``number_at`` of the key) and the masked key to the entry with the highest score, from
which the others with the same masked key follow in falling order. Ranges are checked entry by entry. Patterns
are tried in falling order of their highest score, so the search ends when none of the rest can win.
"""

from __future__ import annotations

from offramp_base.native.subset import Words, below, inlined, native
from offramp_p4.native.runtime.context import Table
from offramp_p4.native.runtime.hashtable import find, insert, remove


@inlined
def find_best(table: Table, key: Words, probe: Words, values: Words, words: int, number_at: int, ranges: int) -> int:
    """The entry with the highest score that matches; ``values`` are those of the range keys."""
    row = table.patterns
    scores = table.scores
    best = 0
    best_score = 0
    for _ in range(table.pattern_count):
        if best != 0 and row[0] < best_score:
            break
        for i in range(words):
            probe[i] = key[i] & row[2 + i]
        probe[number_at // 64] = probe[number_at // 64] | (row[1] << (number_at & 63))
        entry = find(table.slots, table.mask, probe, words)
        while entry != 0:
            score = scores[entry - 1]
            if best != 0 and score < best_score:
                break
            outside = 0
            bounds = table.ranges + (entry - 1) * ranges * 2
            for i in range(ranges):
                if below(values[i], bounds[2 * i]) or below(bounds[2 * i + 1], values[i]):
                    outside = 1
            if outside == 0:
                best = entry
                best_score = score
                break
            entry = table.next[entry - 1]
        row = row + (words + 2)
    return best


@native
def add_to_pattern(table: Table, key: Words, words: int, entry: int) -> int:
    """Enter an entry whose score is set; returns the change in slots that are not free."""
    slots = table.slots
    scores = table.scores
    following = table.next
    first = find(slots, table.mask, key, words)
    if first == 0 or scores[first - 1] < scores[entry - 1]:
        following[entry - 1] = first
        return insert(slots, table.mask, key, words, entry)
    at = first
    while following[at - 1] != 0 and scores[following[at - 1] - 1] > scores[entry - 1]:
        at = following[at - 1]
    following[entry - 1] = following[at - 1]
    following[at - 1] = entry
    return 0


@native
def add_all_to_patterns(table: Table, keys: Words, words: int, entries: Words, count: int) -> int:
    """The same for ``count`` entries."""
    taken = 0
    for i in range(count):
        taken += add_to_pattern(table, keys + i * words, words, entries[i])
    return taken


@native
def drop_from_pattern(table: Table, key: Words, words: int, entry: int) -> int:
    """Take an entry out; returns 1 if it was the last with its masked key."""
    slots = table.slots
    following = table.next
    at = find(slots, table.mask, key, words)
    if at == entry:
        if following[entry - 1] != 0:
            insert(slots, table.mask, key, words, following[entry - 1])
            return 0
        remove(slots, table.mask, key, words)
        return 1
    while following[at - 1] != entry:
        at = following[at - 1]
    following[at - 1] = following[entry - 1]
    return 0
