# SPDX-License-Identifier: Apache-2.0
"""The request state table's memory (specification section 6): one array of words, sections at offsets in its header."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.runtime.clock import CLOCK_WORDS
from offramp.leo.runtime.dataflow import TRIP_WORDS, Program

Words = npt.NDArray[np.int64]


class State(IntEnum):
    """Of a request."""

    FREE = 0
    NEW = 1
    SELECTED = 2
    ACC_PENDING = 3  # in the accelerator's submission queue, or in the accelerator
    ACC_DONE = 4
    NIC_PENDING = 5
    WAIT_RESP = 6
    DONE = 7
    HELD = 8  # the selector starts it later


# The header.
ROWS: Final = CLOCK_WORDS
STRIDE: Final = ROWS + 1  # bytes of a row's request, and of its answer
FREE_COUNT: Final = ROWS + 2
SERIAL: Final = ROWS + 3
PATHS: Final = ROWS + 4
MASK: Final = ROWS + 5  # of queues' slots
REQUESTS: Final = ROWS + 6  # addresses of the messages' memory
ANSWERS: Final = ROWS + 7
LINKS: Final = ROWS + 8
IN_FLIGHT: Final = ROWS + 9  # requests that are neither done nor free
ESCAPED: Final = ROWS + 10  # requests that the last call leaves to devices in Python
FAILED: Final = ROWS + 11  # a bit for each path on which a request has failed since the last look at failures

# Where sections begin.
FIRST: Final = 16  # types x paths: the first trip, -1 where the type may not take the path
COUNT: Final = 17
TRIPS: Final = 18
QUEUES: Final = 19  # NIC SQ of each link, acc SQ of each local device, done, failed
FREE: Final = 20  # rows that are free
ROWS_AT: Final = 21  # each row's words side by side: a request touches them together, and rows soon are in no order
ARGUMENTS: Final = 22  # of a compiled function
HEADER: Final = 23

# A row's words.
STATE: Final = 0
TYPE: Final = 1
KEY: Final = 2
NUMBER: Final = 3  # serial number above 16 bits of row: what travels
PATH: Final = 4
TRIP: Final = 5
ATTEMPT: Final = 6
T1: Final = 7
T2: Final = 8
DELAY: Final = 9  # t4 - t3 of the trip
JCT: Final = 10  # of the trips that have ended
SIZE: Final = 11  # of the request, bytes
ANSWER: Final = 12  # of the last answer, bytes
STATUS: Final = 13
USER: Final = 14
BEGUN: Final = 15
ENDED: Final = 16
ACTED: Final = 17  # the local device has done this trip's work
PLACE: Final = 18  # address of the request's message
ROW_WORDS: Final = 24

QUEUE_HEAD: Final = 0
QUEUE_TAIL: Final = 1
QUEUE_SLOTS: Final = 2
MOST_ROWS: Final = 1 << 16
MOST_ATTEMPTS: Final = 64
_ARGUMENT_WORDS: Final = 16


def make_state(program: Program, rows: int, stride: int) -> Words:
    """A table in which all rows are free."""
    types, paths = len(program.types), len(program.paths)
    trips = program.words()
    slots = 1 << (2 * rows - 1).bit_length()
    queues = len(program.links) + len(program.local) + 2
    lengths = {FIRST: types * paths, COUNT: types * paths, TRIPS: trips.size}
    lengths |= {QUEUES: queues * (slots + QUEUE_SLOTS)} | {FREE: rows, ROWS_AT: rows * ROW_WORDS}
    lengths[ARGUMENTS] = _ARGUMENT_WORDS
    state = np.zeros(HEADER + sum(lengths.values()), np.int64)
    at = HEADER
    for which, length in lengths.items():
        state[which] = at
        at += length
    state[[ROWS, STRIDE, FREE_COUNT, PATHS, MASK, LINKS]] = rows, stride, rows, paths, slots - 1, len(program.links)
    first, count = program.index()
    section(state, FIRST, types * paths)[:] = first
    section(state, COUNT, types * paths)[:] = count
    section(state, TRIPS, trips.size)[:] = trips.ravel()
    section(state, FREE, rows)[:] = np.arange(rows)[::-1]
    assert trips.shape[1:] == (TRIP_WORDS,)
    return state


def section(state: Words, which: int, length: int) -> Words:
    """A view of one section."""
    start = int(state[which])
    return state[start : start + length]


def column(state: Words, which: int) -> Words:
    """A view of one word of all rows."""
    return section(state, ROWS_AT, int(state[ROWS]) * ROW_WORDS)[which::ROW_WORDS]
