# SPDX-License-Identifier: Apache-2.0
"""Memory of a host, which outlives its responder's process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.leo.native import journal
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

Words = npt.NDArray[np.int64]


class ResponderState:
    """State that outlives a responder's process: the host's memory, and journals by requester.

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
        """Size in bytes of the memory segment."""
        return 8 * (-(-memory_bytes // 8) + journals * journal_words)

    def journal(self, owner: int, rows: int, in_use: set[int]) -> tuple[Words, bool]:
        """The journal of a requester, and whether it was there before.

        Raises:
            OfframpError: it has too many rows or another number than before, or all journals belong to connected
                requesters.
        """
        if journal.journal_words(rows) > self._journals.shape[1]:
            raise OfframpError(f"request table of {rows} rows: the responder's journals are for fewer")
        owners = self._journals[:, journal.Journal.owner]
        for number in np.flatnonzero(owners == owner):
            if self._journals[number, journal.Journal.entries] != journal.entries_of(rows):
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
        return set(self._journals[:, journal.Journal.owner].tolist())
