# SPDX-License-Identifier: Apache-2.0
"""The requester's devices in machine code: functions of the CPU, and modelled accelerators that keep their own time.

Functions that are not compiled escape to Python, as at the responder (:mod:`offramp.leo.native.serve`).

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.device import Status
from offramp.leo.native.clock import now_ns
from offramp.leo.native.engine import MOST_MESSAGE, EngineState, enqueue, next_slot, slot_ready
from offramp.leo.native.request import acted, answer_of, compose, expected, queue_of, request_of, trip_of
from offramp.leo.native.state import RequestTable
from offramp.leo.selection.layout import SelectorState
from offramp_base.native.subset import Bytes, Words, call_word, native

_OK = int(Status.OK)


@native
def _run(table: RequestTable, selector: SelectorState, ticket: int, message: Bytes, length: int) -> None:
    """Run the compiled function of a request's trip; the answer is stored with the request's answers."""
    row = ticket & 0xFFFFFFFF
    trip = trip_of(table, row)
    arguments = table.arguments
    arguments.message = message
    arguments.message_bytes = length
    arguments.reply = answer_of(table, row)
    arguments.reply_bytes = table.stride
    arguments.own = trip.context
    status = call_word(trip.call, int(arguments))
    length = arguments.reply_bytes if status == _OK else 0
    acted(table, selector, ticket, status, answer_of(table, row), length)


@native
def _drained(table: RequestTable, selector: SelectorState, engine: EngineState) -> int:
    """Take what a modelled accelerator has finished by now; requests that were rerouted meanwhile are dropped."""
    count = 0
    now = now_ns(table)
    while slot_ready(engine, now):
        slot = next_slot(engine)
        if expected(table, slot.id):
            _run(table, selector, slot.id, slot.message, slot.length)
        engine.head = engine.head + 1
        count += 1
    return count


@native
def act(
    table: RequestTable, selector: SelectorState, device: int, engine: EngineState, tickets: Words, most: int
) -> int:
    """Work on the queue of a local device; returns the number of requests handled, including tickets that escape."""
    queue = queue_of(table, table.links + device)
    count = 0
    if int(engine) != 0:
        count = _drained(table, selector, engine)
    table.escaped = 0
    while table.escaped < most and queue.head != queue.tail:
        ticket = Words(queue + 1)[queue.head & table.mask]
        if expected(table, ticket):
            row = ticket & 0xFFFFFFFF
            trip = trip_of(table, row)
            length = compose(table, row, Bytes(0))
            message = request_of(table, row) + trip.start
            if trip.call != 0 and trip.engine == 0:
                _run(table, selector, ticket, message, length)
            elif trip.call != 0 and length <= MOST_MESSAGE:
                if not enqueue(engine, ticket, 0, 0, 0, message, length, now_ns(table)):
                    break
            else:
                tickets[table.escaped] = ticket
                table.escaped = table.escaped + 1
            count += 1
        queue.head = queue.head + 1
    return count
