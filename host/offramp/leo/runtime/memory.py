"""Memory that several processes map, and rings in it."""

from __future__ import annotations

import mmap
import os
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError
from offramp.leo.runtime import ring

Words = npt.NDArray[np.int64]
RING_BYTES: Final = 1 << 22


class Segment:
    """Anonymous memory with a name for other processes of the same user; it lives as long as one of them maps it.

    Attributes:
        words: the memory.
        name: for :meth:`attach`, while this process lives.
    """

    def __init__(self, size: int) -> None:
        """So many bytes of zeros.

        Raises:
            OfframpError: there is not so much.
        """
        self._file = os.memfd_create("offramp-leo", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._file, size)
            self._map(size)
        except (OSError, ValueError) as error:
            os.close(self._file)
            raise OfframpError(f"shared memory of {size} bytes: {error}") from None
        self.name = f"/proc/{os.getpid()}/fd/{self._file}"

    @classmethod
    def attach(cls, name: str) -> Segment:
        """The memory that another process made.

        Raises:
            OfframpError: it is gone, or not ours.
        """
        made = cls.__new__(cls)
        made.name = name
        try:
            made._file = os.open(name, os.O_RDWR | os.O_CLOEXEC)
            made._map(os.fstat(made._file).st_size)
        except (OSError, ValueError) as error:
            raise OfframpError(f"shared memory {name}: {error}") from None
        return made

    def _map(self, size: int) -> None:
        self._mapped = mmap.mmap(self._file, size)
        self.words: Words = np.frombuffer(self._mapped, np.int64)

    def close(self) -> None:
        """The name goes; the memory goes with the last array on it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def ring_words(size: int) -> int:
    """Words of a ring of ``size`` bytes of entries.

    Raises:
        OfframpError: not a power of two from 4 KiB on.
    """
    if size < 4096 or size & size - 1:
        raise OfframpError(f"ring of {size} bytes: expected a power of two from 4096 on")
    return ring.HEADER_WORDS + size // 8


def make_ring(size: int, words: Words | None = None) -> Words:
    """An empty ring, in ``words`` where they are given."""
    made = np.zeros(ring_words(size), np.int64) if words is None else words[: ring_words(size)]
    made[: ring.HEADER_WORDS] = 0
    made[ring.SIZE] = size
    return made


def ring_size(stride: int, rows: int) -> int:
    """Bytes for a ring that holds ``rows`` messages of ``stride`` bytes, or 4 MiB, but three of them at least."""
    entry = stride + ring.ENTRY_BYTES + 16
    return 1 << (max(3 * entry, min(rows * entry, RING_BYTES), 4096) - 1).bit_length()


class Host:
    """What outlives a responder's process: the host's memory, and journals by requester.

    Attributes:
        memory: words of the host's memory.
    """

    _OWNER: Final = 3

    def __init__(self, segment: Segment, memory_bytes: int, journals: int, journal_words: int) -> None:
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
            OfframpError: it has too many rows, or all journals belong to others that are connected.
        """
        from offramp.leo.runtime import journal

        if journal.journal_words(rows) > self._journals.shape[1]:
            raise OfframpError(f"request table of {rows} rows: the responder's journals are for fewer")
        owners = self._journals[:, self._OWNER]
        for found in np.flatnonzero(owners == owner):
            return self._journals[found], True
        for free in range(len(owners)):
            if int(owners[free]) not in in_use:
                journal.prepare(self._journals[free], rows)
                owners[free] = owner
                return self._journals[free], False
        raise OfframpError(f"{len(owners)} requesters are connected: the responder takes no more")
