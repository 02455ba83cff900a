# SPDX-License-Identifier: Apache-2.0
"""Rings for Python, and the memory of a host that outlives its responder."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.runtime import ring
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

Words = npt.NDArray[np.int64]
LEAST_RING: Final = 4096
MOST_RING: Final = 1 << 27
MOST_STRIDE: Final = 1 << 24
"""Bytes of the longest request or answer of a table."""
_USUAL_RING: Final = 1 << 22
_LINE_WORDS: Final = 8
RING_HEADER_WORDS: Final = 2 * _LINE_WORDS
"""Of a ring in shared memory: a line for each of its two words."""


class End:
    """One side of a ring: a producer's or a consumer's.

    Attributes:
        words: for compiled code (:mod:`offramp.leo.runtime.ring`); nobody else may write them.
        head, tail: one word each: bytes published and given back.
        content: the entries.
    """

    def __init__(self, head: Words, tail: Words, content: Words, longest: int | None = None) -> None:
        """An end of an empty ring; ``longest`` message that a consumer takes, bytes."""
        size = content.nbytes
        if not LEAST_RING <= size <= MOST_RING or size & (size - 1):
            raise OfframpError(f"ring of {size} bytes: expected a power of two from {LEAST_RING} to {MOST_RING}")
        self.head, self.tail, self.content = head, tail, content
        self.words = np.zeros(ring.END_WORDS, np.int64)
        self.words[: ring.SIZE] = head.ctypes.data, tail.ctypes.data, content.ctypes.data
        self.words[ring.SIZE] = size
        self.words[ring.LONGEST] = size if longest is None else longest
        self._words = self.words.data

    @property
    def size(self) -> int:
        """Bytes of the entries."""
        return self.content.nbytes

    @property
    def position(self) -> int:
        """Bytes that this side has written or seen, published or not."""
        return self._words[ring.POSITION]

    @property
    def fault(self) -> str:
        """What the other side did that cannot be; empty where nothing."""
        number = self._words[ring.FAULT]
        return ring.FAULTS[number] if number else ""


def ring_words(size: int) -> int:
    """Words of a ring in shared memory with ``size`` bytes of entries.

    Raises:
        OfframpError: no size that a ring may have.
    """
    if not LEAST_RING <= size <= MOST_RING or size & (size - 1):
        raise OfframpError(f"ring of {size} bytes: expected a power of two from {LEAST_RING} to {MOST_RING}")
    return RING_HEADER_WORDS + size // 8


def make_end(size: int, words: Words | None = None, longest: int | None = None) -> End:
    """An end of a ring of ``size`` bytes that lies in ``words``, or in memory of its own."""
    count = ring_words(size)
    memory = np.zeros(count, np.int64) if words is None else words[:count]
    tail = memory[_LINE_WORDS : _LINE_WORDS + 1]
    return End(memory[:1], tail, memory[RING_HEADER_WORDS:count], longest)


def ring_size(stride: int, rows: int) -> int:
    """Bytes for a ring that holds ``rows`` messages of ``stride`` bytes, or 4 MiB, but three of them at least."""
    entry = stride + ring.ENTRY_BYTES + 16
    return 1 << (max(3 * entry, min(rows * entry, _USUAL_RING), LEAST_RING) - 1).bit_length()


class Host:
    """What outlives a responder's process: the host's memory, and journals by requester.

    Attributes:
        memory: words of the host's memory.
    """

    def __init__(self, segment: SharedMemory, memory_bytes: int, journals: int, journal_words: int) -> None:
        words = -(-memory_bytes // 8)
        self.segment, self.memory_bytes = segment, words * 8
        self.memory = segment.words[:words]
        self._journals = segment.words[words : words + journals * journal_words].reshape(journals, journal_words)

    @staticmethod
    def size(memory_bytes: int, journals: int, journal_words: int) -> int:
        """Bytes of its segment."""
        return 8 * (-(-memory_bytes // 8) + journals * journal_words)

    def journal(self, owner: int, rows: int, in_use: set[int]) -> tuple[Words, bool]:
        """The journal of a requester, and whether it was there before.

        Raises:
            OfframpError: it has too many rows or others than before, or all journals belong to connected requesters.
        """
        from offramp.leo.runtime import journal

        if journal.journal_words(rows) > self._journals.shape[1]:
            raise OfframpError(f"request table of {rows} rows: the responder's journals are for fewer")
        owners = self._journals[:, journal.OWNER]
        for number in np.flatnonzero(owners == owner):
            if self._journals[number, journal.ENTRIES] != journal.entries_of(rows):
                raise OfframpError(f"request table of {rows} rows: the requester's journal is for another number")
            return self._journals[number], True
        for free in range(len(owners)):
            if int(owners[free]) not in in_use:
                journal.prepare(self._journals[free], rows)
                owners[free] = owner
                return self._journals[free], False
        raise OfframpError(f"{len(owners)} requesters are connected: the responder takes no more")

    def owners(self) -> set[int]:
        """Requesters that have a journal."""
        from offramp.leo.runtime import journal

        return set(self._journals[:, journal.OWNER].tolist())
