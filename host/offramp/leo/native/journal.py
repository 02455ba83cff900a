# SPDX-License-Identifier: Apache-2.0
"""What makes a request be executed once: answers that are kept, and a redo log of one write.

It lies in memory that outlives the responder's process. A function's effect is a write of the host's memory that it
puts into the log. The answer is kept and the entry marked as committed before the write is made, so that a process that
was killed at any moment left either no trace or what :func:`recover` completes. What a device or a function in Python
does is not in the log: after a crash such a request is answered LOST, and nobody does it again.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp.device import Status
from offramp.leo.native.dataflow import MOST_TRIPS
from offramp.leo.native.state import MOST_ROWS
from offramp_base.errors import OfframpError
from offramp_base.native.subset import Bytes, Words, copy, inlined, native, publish

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ENTRIES: Final = 0
OFFSET: Final = 1  # of the write in the host's memory
LENGTH: Final = 2  # of the write; 0: none
OWNER: Final = 3  # the requester's number; 0: nobody's
CONTENT: Final = 8
MOST_WRITE: Final = 4096
TABLE: Final = CONTENT + MOST_WRITE // 8

NUMBER: Final = 0  # of an entry: the request's
STATE: Final = 1
STATUS: Final = 2
ANSWERED: Final = 3
ANSWER: Final = 4
MOST_ANSWER: Final = 64
ENTRY: Final = ANSWER + MOST_ANSWER // 8

NEW: Final = 0
RUNNING: Final = 1
COMMITTED: Final = 2
KEPT: Final = 3
GIVEN: Final = 4  # to a device or to Python, whose effects are not in the log
_LOST = int(Status.LOST)


def journal_words(rows: int) -> int:
    """Words of a journal for a requester with so many rows.

    Raises:
        OfframpError: more than can be.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise OfframpError(f"request table of {rows} rows: expected 1 to {MOST_ROWS}")
    return TABLE + entries_of(rows) * ENTRY


def entries_of(rows: int) -> int:
    """Entries of a journal for a requester with so many rows."""
    return rows * MOST_TRIPS


def prepare(words: npt.NDArray[np.int64], rows: int) -> None:
    """Make it a journal without entries."""
    words[:] = 0
    words[ENTRIES] = entries_of(rows)


@inlined
def kept(journal: Words, number: int, trip: int) -> Words:
    """The entry of a trip of a request, which may hold an older one's."""
    return journal + (TABLE + ((number & (MOST_ROWS - 1)) * MOST_TRIPS + trip) * ENTRY)


@native
def redo(journal: Words, memory: Bytes, size: int) -> None:
    """Make the write that the log holds, where it lies within the memory's ``size`` bytes."""
    offset = journal[OFFSET]
    length = journal[LENGTH]
    if length < 0 or length > MOST_WRITE or length > size or offset < 0 or offset > size - length:
        return
    copy(memory + offset, Bytes(int(journal + CONTENT)), length)


@native
def commit(journal: Words, held: Words, memory: Bytes, size: int, status: int, answer: Bytes, answered: int) -> None:
    """Keep the answer, at most ``MOST_ANSWER`` bytes, then make the write."""
    copy(Bytes(int(held + ANSWER)), answer, answered)
    held[STATUS] = status
    held[ANSWERED] = answered
    publish(held + STATE, COMMITTED)
    redo(journal, memory, size)
    publish(held + STATE, KEPT)


@native
def recover(journal: Words, entries: int, memory: Bytes, size: int) -> int:
    """After a crash: complete what was committed; what was running has left no trace, of what was given nobody knows.

    Args:
        journal: of one requester.
        entries: that it has.
        memory: of the host.
        size: of the memory, bytes.

    Returns:
        What was completed.
    """
    count = 0
    for i in range(entries):
        held = journal + (TABLE + i * ENTRY)
        if held[STATE] == COMMITTED:
            redo(journal, memory, size)
            publish(held + STATE, KEPT)
            count += 1
        if held[STATE] == RUNNING:
            publish(held + STATE, NEW)
        if held[STATE] == GIVEN:
            held[STATUS] = _LOST
            held[ANSWERED] = 0
            publish(held + STATE, KEPT)
    return count
