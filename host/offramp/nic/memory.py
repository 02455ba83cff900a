# SPDX-License-Identifier: Apache-2.0
"""Allocation in memory that the agent maps (:mod:`offramp_base.sealed_memory`)."""

from __future__ import annotations

from bisect import insort
from typing import Final

LINE: Final = 64


class Arena:
    """First-fit allocator for pieces of memory at multiples of 64; adjacent free pieces are joined."""

    def __init__(self, start: int, end: int) -> None:
        self._free = [(start, end)]
        self.size = end - start

    def take(self, length: int) -> int | None:
        """Offset of a new piece of ``length`` bytes; None if no hole is long enough."""
        length = max(-(-length // LINE), 1) * LINE
        for place, (start, end) in enumerate(self._free):
            if end - start >= length:
                self._free[place : place + 1] = [(start + length, end)] if end - start > length else []
                return start
        return None

    def give(self, start: int, length: int) -> None:
        """Free a piece that :meth:`take` returned."""
        end = start + max(-(-length // LINE), 1) * LINE
        insort(self._free, (start, end))
        place = self._free.index((start, end))
        for left in (place, place - 1):
            if 0 <= left < len(self._free) - 1 and self._free[left][1] == self._free[left + 1][0]:
                self._free[left : left + 2] = [(self._free[left][0], self._free[left + 1][1])]
