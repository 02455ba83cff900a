# SPDX-License-Identifier: Apache-2.0
"""The responder in machine code: from the NIC's receive queue through the CPU's functions to its send queue.

Requests that run elsewhere, on an accelerator or in Python, escape: they are handed to the caller and answered by
:func:`respond`. A CPU function is compiled code ``status = f(arguments)``; its arguments are the words below.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.leo.native.call import Arguments
from offramp.leo.native.clock import ClockedState, now_ns
from offramp.leo.native.engine import MOST_MESSAGE as MOST_SLOT
from offramp.leo.native.engine import EngineState, enqueue, next_slot, slot_ready
from offramp.leo.native.journal import (
    GIVEN,
    KEPT,
    MOST_ANSWER,
    MOST_WRITE,
    NEW,
    RUNNING,
    Journal,
    KeptAnswer,
    commit,
    kept,
    redo,
)
from offramp.leo.native.mover import LinkMover, pull, push
from offramp.leo.native.pace import IDLE_NS, after_round
from offramp.leo.native.ring import BAD_ROW, MOST_ROWS, MOST_TRIPS, ONCE
from offramp_base.native.records import At, Record
from offramp_base.native.ring import (
    NOTHING,
    MessageHeader,
    RingEnd,
    entry,
    entry_bytes,
    front,
    give_back,
    message,
    pass_over,
    publish_ring,
    reserve,
    take_words,
)
from offramp_base.native.subset import Bytes, Words, call_word, copy, inlined, native, observe

MOST_TAKEN: Final = MOST_WRITE + 8
"""Most bytes of a message that is copied before it is executed: the longest whose words a function relies on."""
_FEW: Final = 64

MOST_ENGINES: Final = 8


class CpuFunction(Record):
    """A compiled function of the CPU."""

    address: int  # 0: not compiled
    context: Words
    room: int  # bytes of its longest answer
    accelerated: Words  # its context on a device with an engine, 0 where it has none


class ServeState(ClockedState):
    """State of a connection's loop; a :class:`CpuFunction` for each of the connection's functions follows in memory."""

    memory: Bytes  # the host's, and its size
    memory_bytes: int
    functions: int
    escaped: int  # of the last call
    served: int  # requests that the CPU has executed
    rows: int  # of the requester's table
    taken: Words  # room for the message that is executed
    reserved: Annotated[Words, 5]
    engines: Annotated[Words, MOST_ENGINES]  # address of each device's engine, by its number; 0: it has none
    reserved2: Annotated[Words, 8]
    arguments: Arguments
    entry: MessageHeader  # the entry in front, as it was read
    reserved3: Annotated[Words, 3]


class Escape(Record):
    """A request that runs elsewhere."""

    id: int
    key: int
    stamp: int
    info: int
    length: int
    place: int  # of its message in the buffer


@inlined
def function_of(state: ServeState, number: int) -> CpuFunction:
    """A function of the connection."""
    return CpuFunction(state + 1)[number]


_HEADER = 4
_OK = int(Status.OK)
ELSEWHERE: Final = 0xFF
"""Status with which a compiled function leaves a request to Python or a device; see :func:`_execute`."""
_DONE, _NO_ROOM, _DECLINED = 1, 0, 2
_MOST_DELAY = 0xFFFFFFFF
_STATUS_SHIFT = 40


def make_state(functions: int, rows: int) -> npt.NDArray[np.int64]:
    """State of a responder without compiled functions, for a requester with ``rows`` rows."""
    state = np.zeros(ServeState.WORDS + functions * CpuFunction.WORDS, np.int64)
    fields = ServeState(state)
    fields.functions, fields.rows = functions, rows
    return state


@inlined
def _finish(
    sent: RingEnd, place: int, room: int, length: int, number: int, key: int, info: int, delay: int, now: int
) -> None:
    """Write header and words of a response whose message was written in place, in an entry for ``room`` bytes."""
    sent.position = sent.position - entry_bytes(room + _HEADER) + entry_bytes(length + _HEADER)
    body = message(sent, place)
    delay = min(max(delay, 0), _MOST_DELAY)
    body[0] = delay & 0xFF
    body[1] = (delay >> 8) & 0xFF
    body[2] = (delay >> 16) & 0xFF
    body[3] = delay >> 24
    words = entry(sent, place)
    words.length = length + _HEADER
    words.id = number
    words.key = key
    words.stamp = now
    words.info = info


@inlined
def _with_status(info: int, status: int) -> int:
    return (info & ~(0xFF << _STATUS_SHIFT)) | status << _STATUS_SHIFT


@native
def _replay(state: ServeState, held: KeptAnswer, sent: RingEnd, words: MessageHeader, came: int) -> bool:
    """Send a kept answer again; False if there is no room."""
    place = reserve(sent, MOST_ANSWER + _HEADER)
    if place == NOTHING:
        return False
    answered = min(max(held.answered, 0), MOST_ANSWER)
    copy(message(sent, place) + _HEADER, held.answer, answered)
    now = now_ns(state)
    info = _with_status(words.info, held.status & 0xFF)
    _finish(sent, place, MOST_ANSWER, answered, words.id, words.key, info, now - came, now)
    return True


@inlined
def _taken(state: ServeState, body: Bytes, length: int) -> Bytes:
    """Copy a message to where its sender cannot change it; one longer than functions rely on stays where it is."""
    into = state.taken
    if length > MOST_TAKEN:
        return body
    if length > _FEW:
        copy(Bytes(int(into)), body, length)
    else:
        words = Words(int(body))
        for i in range((length + 7) >> 3):
            into[i] = observe(words + i)
    return Bytes(int(into))


@inlined
def _call(
    state: ServeState,
    journal: Journal,
    function: CpuFunction,
    context: Words,
    body: Bytes,
    length: int,
    reply: Bytes,
    room: int,
) -> int:
    """Call a function and return its status; the arguments tell the length of its answer."""
    arguments = state.arguments
    arguments.message = body
    arguments.message_bytes = length
    arguments.reply = reply
    arguments.reply_bytes = room
    arguments.log = journal
    arguments.host = state.memory
    arguments.host_bytes = state.memory_bytes
    arguments.own = context
    status = call_word(function.address, int(arguments))
    if status != _OK:
        arguments.reply_bytes = 0
    return status


@native
def _execute(
    state: ServeState,
    journal: Journal,
    function: CpuFunction,
    words: MessageHeader,
    body: Bytes,
    sent: RingEnd,
    came: int,
) -> int:
    """Let the CPU answer the request at the front, unless there is no room for its answer or its function declines.

    Functions that are executed at most once must not decline.
    """
    once = (words.info >> 48) & ONCE
    held = kept(journal, words.id, (words.info >> 24) & 0xFF)
    room = function.room
    if once != 0:
        room = min(room, MOST_ANSWER)
    answer = reserve(sent, room + _HEADER)
    if answer == NOTHING:
        return _NO_ROOM
    if once != 0:
        held.number = words.id
        held.state = RUNNING
    reply = message(sent, answer) + _HEADER
    journal.length = 0
    given = _taken(state, body, words.length)
    status = _call(state, journal, function, function.context, given, words.length, reply, room)
    length = state.arguments.reply_bytes
    if status == ELSEWHERE:
        sent.position = sent.position - entry_bytes(room + _HEADER)
        return _DECLINED
    if once != 0:
        commit(journal, held, state.memory, state.memory_bytes, status, reply, length)
    elif journal.length != 0:
        redo(journal, state.memory, state.memory_bytes)
    now = now_ns(state)
    _finish(sent, answer, room, length, words.id, words.key, _with_status(words.info, status), now - came, now)
    state.served = state.served + 1
    return _DONE


@inlined
def _accelerated(state: ServeState, function: CpuFunction, device: int, named: int, once: int, length: int) -> bool:
    """Whether a device's engine accepts the request."""
    known = device < MOST_ENGINES and named < state.functions and once == 0 and length <= MOST_SLOT
    return known and state.engines[device] != 0 and int(function.accelerated) != 0 and function.address != 0


@native
def _drain(state: ServeState, journal: Journal, engine: EngineState, sent: RingEnd) -> int:
    """Send the answers that a modelled accelerator has finished."""
    count = 0
    now = now_ns(state)
    while slot_ready(engine, now):
        slot = next_slot(engine)
        function = function_of(state, slot.info & 0xFFFF)
        room = function.room
        answer = reserve(sent, room + _HEADER)
        if answer == NOTHING:
            break
        reply = message(sent, answer) + _HEADER
        status = _call(state, journal, function, function.accelerated, slot.message, slot.length, reply, room)
        length = state.arguments.reply_bytes
        info = _with_status(slot.info, status)
        delay = now - slot.came
        _finish(sent, answer, room, length, slot.id, slot.key, info, delay, now)
        engine.head = engine.head + 1
        count += 1
    return count


@inlined
def _escape(
    state: ServeState,
    escapes: Escape,
    most: int,
    buffer: Bytes,
    room: int,
    words: MessageHeader,
    body: Bytes,
    came: int,
) -> bool:
    """Hand the request at the front to the caller; False if there is no room."""
    used = 0
    if state.escaped != 0:
        last = escapes[state.escaped - 1]
        used = last.place + ((last.length + 7) & ~7)
    length = words.length
    if state.escaped == most or used + length > room:
        return False
    out = escapes[state.escaped]
    out.id = words.id
    out.key = words.key
    out.stamp = came
    out.info = words.info
    out.length = length
    out.place = used
    copy(buffer + used, body, length)
    state.escaped = state.escaped + 1
    return True


@inlined
def _take(
    state: ServeState,
    journal: Journal,
    sent: RingEnd,
    escapes: Escape,
    most: int,
    buffer: Bytes,
    room: int,
    body: Bytes,
    came: int,
) -> bool:
    """Answer the request at the front, or hand it on; False if there is no room."""
    words = state.entry
    info = words.info
    device = (info >> 16) & 0xFF
    named = info & 0xFFFF
    function = function_of(state, named)
    held = kept(journal, words.id, (info >> 24) & 0xFF)
    once = (info >> 48) & ONCE
    known = held.number == words.id
    if once != 0 and known and held.state == KEPT:
        return _replay(state, held, sent, words, came)
    fresh = once == 0 or not known or held.state == NEW
    if device == 0 and named < state.functions and function.address != 0 and fresh:
        done = _execute(state, journal, function, words, body, sent, came)
        if done != _DECLINED:
            return done == _DONE
    if _accelerated(state, function, device, named, once, words.length):
        engine = EngineState(state.engines[device])
        return enqueue(engine, words.id, words.key, info, came, body, words.length, now_ns(state))
    return _escape(state, escapes, most, buffer, room, words, body, came)


@native
def serve(
    state: ServeState,
    journal: Journal,
    received: RingEnd,
    sent: RingEnd,
    budget: int,
    escapes: Escape,
    most: int,
    buffer: Bytes,
    room: int,
) -> int:
    """Serve up to ``budget`` requests of one connection; returns how many were taken or answered.

    The rings and the journal are the connection's; there is room for ``most`` requests that run elsewhere, with
    ``room`` bytes of messages.
    """
    taken = 0
    state.escaped = 0
    ended = 0
    for device in range(MOST_ENGINES):
        if state.engines[device] != 0:
            ended += _drain(state, journal, EngineState(state.engines[device]), sent)
    while taken < budget:
        place = front(received)
        if place == NOTHING:
            break
        words = state.entry
        take_words(received, place, words)
        if words.id & (MOST_ROWS - 1) >= state.rows or (words.info >> 24) & 0xFF >= MOST_TRIPS:
            received.fault = BAD_ROW
            break
        came = received.arrived
        if came == 0:
            came = words.stamp
        if not _take(state, journal, sent, escapes, most, buffer, room, message(received, place), came):
            break
        pass_over(received)
        taken += 1
    publish_ring(sent)
    give_back(received)
    return taken + ended


class ServedConnection(Record):
    """A connection as an argument of :func:`serve_all`, with the arguments of :func:`serve`."""

    state: At[ServeState]
    journal: At[Journal]
    received: At[RingEnd]
    sent: At[RingEnd]
    mover: At[LinkMover]  # 0: the rings are shared
    escapes: At[Escape]
    most: int
    buffer: Bytes
    room: int
    reserved: Annotated[Words, 7]


@native
def _serve_one(one: ServedConnection, budget: int) -> int:
    """Serve one round of a connection; returns how many requests were taken or answered."""
    mover = one.mover
    if int(mover) != 0:
        pull(mover, one.received)
    count = serve(one.state, one.journal, one.received, one.sent, budget, one.escapes, one.most, one.buffer, one.room)
    if int(mover) != 0:
        push(mover, one.sent, one.received)
    return count


@native
def _stops(one: ServedConnection) -> int:
    """Whether Python is needed: something has escaped, or the link has failed."""
    if one.state.escaped != 0:
        return 1
    if int(one.mover) != 0 and one.mover.fault != 0:
        return 1
    return 0


@native
def serve_all(connections: ServedConnection, count: int, budget: int, lasts: int) -> int:
    """Serve ``count`` connections in rounds for ``lasts`` ns, until Python is needed, or until there is nothing to do.

    Each gets at most ``budget`` requests per round. Returns how many were taken or answered.
    """
    clock = connections.state
    begun = now_ns(clock)
    worked_at = begun
    total = 0
    while True:
        taken = 0
        stops = 0
        for i in range(count):
            taken += _serve_one(connections + i, budget)
            stops += _stops(connections + i)
        total += taken
        if stops > 0:
            return total
        now = after_round(clock, lasts, taken)
        if taken > 0:
            worked_at = now
        if now - begun >= lasts or now - worked_at >= IDLE_NS:
            return total


@native
def respond(state: ServeState, sent: RingEnd, escape: Escape, status: int, answer: Bytes, length: int) -> int:
    """Answer an escaped request; 0 if there is no room now."""
    place = reserve(sent, length + _HEADER)
    if place == NOTHING:
        return 0
    info = escape.info
    copy(message(sent, place) + _HEADER, answer, length)
    now = now_ns(state)
    number = escape.id
    delay = now - escape.stamp
    _finish(sent, place, length, length, number, escape.key, _with_status(info, status), delay, now)
    publish_ring(sent)
    return 1


@native
def note(journal: Journal, escape: Escape, status: int, answer: Bytes, length: int) -> int:
    """Keep an escaped request's answer (``status`` of at least 0), or record that it was given away (-1) or not (-2).

    Returns:
        The state of its entry before, NEW where it held another request.
    """
    held = kept(journal, escape.id, (escape.info >> 24) & 0xFF)
    before = held.state if held.number == escape.id else NEW
    held.number = escape.id
    if status >= 0:
        copy(held.answer, answer, length)
        held.status = status
        held.answered = length
        held.state = KEPT
    else:
        held.state = GIVEN if status == -1 else NEW
    return before
