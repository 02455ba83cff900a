# SPDX-License-Identifier: Apache-2.0
"""The ends of rings, as Python objects."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.native import ring

Words = npt.NDArray[np.int64]
LEAST_RING: Final = 4096
MOST_RING: Final = 1 << 27
LINE_WORDS: Final = 8
"""Words of a cache line."""
RING_HEADER_WORDS: Final = 2 * LINE_WORDS
"""Words before a ring's entries in shared memory: a cache line for each of its two words."""


class RingSide:
    """One side of a ring: a producer's or a consumer's.

    Attributes:
        words: words for compiled code (:mod:`offramp_base.native.ring`); nobody else may write them.
        head, tail: one word each: bytes published and given back.
        content: the entries.
    """

    def __init__(self, head: Words, tail: Words, content: Words, longest: int | None = None) -> None:
        """An end of an empty ring; ``longest`` is the longest message that a consumer accepts, in bytes."""
        size = content.nbytes
        if not LEAST_RING <= size <= MOST_RING or size & (size - 1):
            raise OfframpError(f"ring of {size} bytes: expected a power of two from {LEAST_RING} to {MOST_RING}")
        self.head, self.tail, self.content = head, tail, content
        self.words = np.zeros(ring.RingEnd.WORDS, np.int64)
        self.words[: ring.RingEnd.size] = head.ctypes.data, tail.ctypes.data, content.ctypes.data
        self.words[ring.RingEnd.size] = size
        self.words[ring.RingEnd.longest] = size if longest is None else longest
        self._words = self.words.data

    @property
    def size(self) -> int:
        """Bytes of the entries."""
        return self.content.nbytes

    @property
    def position(self) -> int:
        """Bytes that this side has written or seen, published or not."""
        return self._words[ring.RingEnd.position]

    @property
    def waiting(self) -> int:
        """Bytes that a consumer has not seen, according to the other side, which may write any number."""
        return int(self.head[0]) - self.position

    @property
    def fault(self) -> str:
        """The other side's violation of the protocol; empty if there is none."""
        number = self._words[ring.RingEnd.fault]
        return ring.FAULTS[number] if number else ""


def ring_words(size: int) -> int:
    """Words of a ring in shared memory with ``size`` bytes of entries.

    Raises:
        OfframpError: a ring cannot have this size.
    """
    if not LEAST_RING <= size <= MOST_RING or size & (size - 1):
        raise OfframpError(f"ring of {size} bytes: expected a power of two from {LEAST_RING} to {MOST_RING}")
    return RING_HEADER_WORDS + size // 8


def make_end(size: int, words: Words | None = None, longest: int | None = None) -> RingSide:
    """An end of a ring of ``size`` bytes that lies in ``words``, or in memory of its own."""
    count = ring_words(size)
    memory = np.zeros(count, np.int64) if words is None else words[:count]
    tail = memory[LINE_WORDS : LINE_WORDS + 1]
    return RingSide(memory[:1], tail, memory[RING_HEADER_WORDS:count], longest)
