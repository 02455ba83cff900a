# SPDX-License-Identifier: Apache-2.0
"""Before an all-to-all starts, all ranks compare what they are about to do, and learn the counts."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.matching.schedule import Matrix
from offramp_base.errors import OfframpError

Words = npt.NDArray[np.int64]
_COMPARED: Final = (
    "how many all-to-alls they have started",
    "the operator's settings",
    "the all-to-alls before this one",
    "the type of the values",
    "the priority",
    "the size of a row",
)
_TEXT_WORDS: Final = 32
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Proposal:
    """The exchange that this rank is about to make, for the others to compare with theirs.

    Attributes:
        sequence, settings, history, dtype, priority: alike on all ranks.
        row_bytes: likewise, or UNKNOWN.
        send: rows for each rank.
        receive: rows from each rank; None: whatever they send.
        fault: why this rank cannot take part.
    """

    sequence: int
    settings: int
    history: int
    dtype: int
    priority: int
    row_bytes: int
    send: Sequence[int]
    receive: Sequence[int] | None
    fault: str = ""

    def words(self) -> Words:
        """The proposal as integers; their number depends on the ranks only."""
        size = len(self.send)
        alike = [self.sequence, self.settings, self.history, self.dtype, self.priority, self.row_bytes]
        receive = [UNKNOWN] * size if self.receive is None else self.receive
        text = self.fault.encode()[: 8 * _TEXT_WORDS].ljust(8 * _TEXT_WORDS, b"\0")
        return np.array([*alike, *self.send, *receive, *np.frombuffer(text, np.int64).tolist()], np.int64)


def agree(table: Words) -> tuple[Matrix, int]:
    """Rows and bytes per row of an exchange, from the words of all ranks, ``(ranks, words)``; all ranks agree.

    Raises:
        OfframpError: a rank has a fault, ranks differ, or one expects other counts than another sends.
    """
    size, first = len(table), len(_COMPARED)
    for rank, row in enumerate(table):
        fault = row[first + 2 * size :].tobytes().rstrip(b"\0").decode(errors="replace")
        if fault:
            raise OfframpError(f"rank {rank}: {fault}")
    for column, what in enumerate(_COMPARED):
        known = [rank for rank in range(size) if table[rank, column] != UNKNOWN]
        differ = [rank for rank in known if table[rank, column] != table[known[0], column]]
        if differ:
            ranks = f"rank{'s' if len(differ) > 1 else ''} {', '.join(map(str, differ))}"
            raise OfframpError(f"{ranks} and rank {known[0]} differ in {what}")
    send, receive = table[:, first : first + size], table[:, first + size : first + 2 * size]
    for sink in range(size):
        if receive[sink, 0] == UNKNOWN:
            continue
        for source in range(size):
            if receive[sink, source] != send[source, sink]:
                text = f"rank {sink} expects {receive[sink, source]} rows from rank {source}, which sends "
                raise OfframpError(text + f"{send[source, sink]}")
    width = int(table[:, _COMPARED.index("the size of a row")].max())
    return np.ascontiguousarray(send), max(0, width)


def fingerprint(*facts: Any) -> int:
    """63 bits of anything that prints alike where it is alike."""
    return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:8], sys.byteorder) >> 1
