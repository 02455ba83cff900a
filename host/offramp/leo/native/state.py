# SPDX-License-Identifier: Apache-2.0
"""Memory of the request state table (specification section 6): an array of words; its header has section offsets."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from offramp.leo.native.call import Arguments
from offramp.leo.native.clock import ClockedState
from offramp.leo.native.dataflow import Dataflow, TripRow
from offramp_base.native.arrays import section, with_sections
from offramp_base.native.records import Record, Within
from offramp_base.native.subset import Words

Table = npt.NDArray[np.int64]


class RequestState(IntEnum):
    """Progress of a request."""

    FREE = 0
    NEW = 1
    SELECTED = 2
    ACC_PENDING = 3  # in the accelerator's submission queue, or in the accelerator
    ACC_DONE = 4
    NIC_PENDING = 5
    WAIT_RESP = 6
    DONE = 7
    HELD = 8  # the selector starts it later


class RequestSlot(Record):
    """A request in the table."""

    state: int
    type: int
    key: int
    number: int  # serial number above 16 bits of row: what travels
    path: int
    trip: int
    attempt: int
    t1: int
    t2: int
    delay: int  # t4 - t3 of the trip
    jct: int  # of the trips that have ended
    size: int  # of the request, bytes
    answer_bytes: int  # of the last answer, bytes
    status: int
    user: int
    begun: int
    ended: int
    acted: int  # the local device has done this trip's work
    place: int  # address of the request's message
    reserved: Annotated[Words, 5]


class RequestTable(ClockedState):
    """Header of the table; sections are found by their offsets."""

    row_count: int
    stride: int  # bytes of a row's request, and of its answer
    free_count: int
    serial: int
    paths: int
    mask: int  # of queues' slots
    requests: int  # addresses of the messages' memory
    answers: int
    links: int
    in_flight: int  # requests that are neither done nor free
    escaped: int  # requests that the last call leaves to devices in Python
    failed: int  # a bit for each path on which a request has failed since the last look at failures

    # Where sections begin.
    first: Within[Words]  # types x paths: the first trip, -1 where the type may not take the path
    count: Within[Words]
    trips: Within[TripRow]
    queues: Within[Words]  # NIC SQ of each link, acc SQ of each local device, done, failed
    free: Within[Words]  # rows that are free
    rows: Within[
        RequestSlot
    ]  # each row's words side by side: a request touches them together, and rows soon are in no order
    arguments: Within[Arguments]  # of a compiled function


class TicketQueue(Record):
    """Queue of tickets of waiting requests; a ring of slots follows in memory."""

    head: int
    tail: int


MOST_ATTEMPTS: Final = 64


def make_state(program: Dataflow, rows: int, stride: int) -> Table:
    """A table in which all rows are free."""
    types, paths = len(program.types), len(program.paths)
    trips = program.words()
    slots = 1 << (2 * rows - 1).bit_length()
    queues = len(program.links) + len(program.local) + 2
    state = with_sections(
        RequestTable,
        (
            (RequestTable.first, types * paths),
            (RequestTable.count, types * paths),
            (RequestTable.trips, trips.size),
            (RequestTable.queues, queues * (slots + TicketQueue.WORDS)),
            (RequestTable.free, rows),
            (RequestTable.rows, rows * RequestSlot.WORDS),
            (RequestTable.arguments, Arguments.WORDS),
        ),
    )
    table = RequestTable(state)
    table.row_count, table.free_count, table.stride = rows, rows, stride
    table.paths, table.mask, table.links = paths, slots - 1, len(program.links)
    first, count = program.index()
    section(state, RequestTable.first, types * paths)[:] = first
    section(state, RequestTable.count, types * paths)[:] = count
    section(state, RequestTable.trips, trips.size)[:] = trips.ravel()
    section(state, RequestTable.free, rows)[:] = np.arange(rows)[::-1]
    assert trips.shape[1:] == (TripRow.WORDS,)
    return state


def column(state: Table, which: int) -> Table:
    """A view of one word of all rows."""
    return section(state, RequestTable.rows, int(state[RequestTable.row_count]) * RequestSlot.WORDS)[
        which :: RequestSlot.WORDS
    ]
