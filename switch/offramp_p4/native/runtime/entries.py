# SPDX-License-Identifier: Apache-2.0
"""The record of an entry of a ternary table: score, chain, place, value, mask, and the bounds of each range key."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, below, inlined

SCORE: Final = 0  # priority, then order of insertion: no two are equal
NEXT: Final = 1  # the next entry of its chain
PLACE: Final = 2  # below 0: less 1 the number of its tuple; else of its bit, counted through all blocks
VALUE: Final = 3  # the words of the value, then those of the mask, then lowest and highest of each range key
LONGEST: Final = 8
"""Entries of a chain."""
LOWEST: Final = -(1 << 62)
"""A score below every score of an entry."""


@inlined
def record_words(words: int, ranges: int) -> int:
    """Words of a record: whole lines of the cache."""
    return (VALUE + 2 * words + 2 * ranges + 7) // 8 * 8


@inlined
def matches(entry: Words, key: Words, values: Words, words: int, ranges: int) -> int:
    """1 if an entry matches a key."""
    different = 0
    for i in range(words):
        different = different | ((key[i] & entry[VALUE + words + i]) ^ entry[VALUE + i])
    if different != 0:
        return 0
    bounds = entry + (VALUE + 2 * words)
    for i in range(ranges):
        if below(values[i], bounds[2 * i]) or below(bounds[2 * i + 1], values[i]):
            return 0
    return 1
