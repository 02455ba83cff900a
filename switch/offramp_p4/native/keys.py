# SPDX-License-Identifier: Apache-2.0
"""Encoding of keys in words: the same concatenation for a table's entries and for the packets that look them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

MAX_PREFIX_KEY: Final = 128
ROOT_BITS: Final = 16
_LENGTH_BITS: Final = 8

Search = Literal["none", "exact", "prefix", "patterns"]


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """The key of one table.

    Attributes:
        search: the kind of search that finds an entry.
        widths: bits of each key.
        order: the keys from the highest bits of the concatenation to the lowest.
        words: 64-bit words, lowest first.
        prefix: the lpm key of a prefix search.
        root_bits: bits of it that pick the row of the root.
        extra_at: the bit where the length of a prefix stands.
        ranges: the keys that ranges are given for.
        by_length: entries have no priorities: the longest prefix wins.
    """

    search: Search
    widths: tuple[int, ...]
    order: tuple[int, ...]
    words: int
    prefix: int = 0
    root_bits: int = 0
    extra_at: int = 0
    ranges: tuple[int, ...] = ()
    by_length: bool = False

    @property
    def exact(self) -> bool:
        """Whether a prefix search has exact keys beside the prefix."""
        return len(self.widths) > 1

    @property
    def sets(self) -> int:
        """Words of a row of the root that are sets of lengths."""
        return (self.widths[self.prefix] - self.root_bits + 63) // 64

    @property
    def row_words(self) -> int:
        """Words of a row of the root."""
        return 1 + self.sets

    def concatenate(self, values: Sequence[int]) -> int:
        """The key as one number."""
        key = 0
        for i in self.order:
            key = key << self.widths[i] | values[i]
        return key

    def divide(self, key: int) -> list[int]:
        """The values of the keys of such a number; bits above them do not count."""
        values = [0] * len(self.widths)
        for i in reversed(self.order):
            values[i] = key & ((1 << self.widths[i]) - 1)
            key >>= self.widths[i]
        return values


def key_format(kinds: Sequence[str], widths: Sequence[int]) -> KeyFormat:
    """The format for keys of these match kinds."""
    widths, order, bits = tuple(widths), tuple(range(len(widths))), sum(widths)
    if not kinds:
        return KeyFormat("none", widths, order, 0)
    if set(kinds) == {"exact"}:
        return KeyFormat("exact", widths, order, max(1, (bits + 63) // 64))
    if set(kinds) <= {"exact", "lpm"} and widths[kinds.index("lpm")] <= MAX_PREFIX_KEY:
        at = kinds.index("lpm")
        order = (*(i for i in order if i != at), at)
        extra, words = _behind(bits, _LENGTH_BITS)
        root = 0 if len(widths) > 1 else min(ROOT_BITS, widths[at])
        return KeyFormat("prefix", widths, order, words, at, root, extra)
    ranges = tuple(i for i, kind in enumerate(kinds) if kind == "range")
    by_length = set(kinds) <= {"exact", "lpm"}
    return KeyFormat("patterns", widths, order, max(1, (bits + 63) // 64), ranges=ranges, by_length=by_length)


def _behind(bits: int, extra: int) -> tuple[int, int]:
    """Bit position of ``extra`` bits that fit one word behind the key, and the words that key and bits take."""
    at = bits if bits % 64 + extra <= 64 else (bits + 63) // 64 * 64
    return at, (at + extra + 63) // 64
