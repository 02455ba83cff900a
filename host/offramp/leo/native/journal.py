# SPDX-License-Identifier: Apache-2.0
"""Exactly-once execution of requests: kept answers, and a redo log of one write.

It lies in memory that outlives the responder's process. A function's effect is one write to the host's memory, which
goes into the log. The answer is kept and the entry marked as committed before the write is made, so that a process that
was killed at any moment left either no trace or what :func:`recover` completes. Effects of devices and of Python
functions are not in the log: after a crash such a request is answered LOST and not repeated.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from offramp.device import Status
from offramp.leo.native.ring import MOST_ROWS, MOST_TRIPS
from offramp_base.errors import OfframpError
from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Words, copy, inlined, native, publish

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST_WRITE: Final = 4096
MOST_ANSWER: Final = 64


class Journal(Record):
    """A requester's journal; a :class:`KeptAnswer` for each of its entries follows in memory."""

    entries: int
    offset: int  # of the write in the host's memory
    length: int  # of the write; 0: none
    owner: int  # the requester's number; 0: nobody's
    reserved: Annotated[Words, 4]
    content: Annotated[Bytes, MOST_WRITE // 8]


class KeptAnswer(Record):
    """Record of one round trip of a request."""

    number: int  # the request's
    state: int
    status: int
    answered: int  # bytes
    answer: Annotated[Bytes, MOST_ANSWER // 8]


NEW: Final = 0
RUNNING: Final = 1
COMMITTED: Final = 2
KEPT: Final = 3
GIVEN: Final = 4  # to a device or to Python, whose effects are not in the log
_LOST = int(Status.LOST)


def journal_words(rows: int) -> int:
    """Words of a journal for a requester with ``rows`` rows.

    Raises:
        OfframpError: there are too many rows.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise OfframpError(f"request table of {rows} rows: expected 1 to {MOST_ROWS}")
    return Journal.WORDS + entries_of(rows) * KeptAnswer.WORDS


def entries_of(rows: int) -> int:
    """Number of entries in a journal for a requester with ``rows`` rows."""
    return rows * MOST_TRIPS


def prepare(words: npt.NDArray[np.int64], rows: int) -> None:
    """Initialise a journal without entries."""
    words[:] = 0
    words[Journal.entries] = entries_of(rows)


@inlined
def kept(journal: Journal, number: int, trip: int) -> KeptAnswer:
    """The entry of a request's trip, which may hold an older one's."""
    return KeptAnswer(journal + 1)[(number & (MOST_ROWS - 1)) * MOST_TRIPS + trip]


@native
def redo(journal: Journal, memory: Bytes, size: int) -> None:
    """Make the write that the log holds, if it lies within the memory's ``size`` bytes."""
    start = journal.offset
    length = journal.length
    if length < 0 or length > MOST_WRITE or length > size or start < 0 or start > size - length:
        return
    copy(memory + start, journal.content, length)


@native
def commit(
    journal: Journal, held: KeptAnswer, memory: Bytes, size: int, status: int, answer: Bytes, answered: int
) -> None:
    """Keep the answer, at most ``MOST_ANSWER`` bytes, then make the write."""
    copy(held.answer, answer, answered)
    held.status = status
    held.answered = answered
    publish(Words(held) + offset(KeptAnswer.state), COMMITTED)
    redo(journal, memory, size)
    publish(Words(held) + offset(KeptAnswer.state), KEPT)


@native
def recover(journal: Journal, entries: int, memory: Bytes, size: int) -> int:
    """Recover after a crash: complete committed writes; uncommitted requests left no trace, escaped ones may have run.

    Args:
        journal: journal of one requester.
        entries: its number of entries.
        memory: memory of the host.
        size: size of the memory in bytes.

    Returns:
        The number of writes that were completed.
    """
    count = 0
    for i in range(entries):
        held = KeptAnswer(journal + 1)[i]
        if held.state == COMMITTED:
            redo(journal, memory, size)
            publish(Words(held) + offset(KeptAnswer.state), KEPT)
            count += 1
        if held.state == RUNNING:
            publish(Words(held) + offset(KeptAnswer.state), NEW)
        if held.state == GIVEN:
            held.status = _LOST
            held.answered = 0
            publish(Words(held) + offset(KeptAnswer.state), KEPT)
    return count
