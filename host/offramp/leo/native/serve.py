# SPDX-License-Identifier: Apache-2.0
"""The responder in machine code: from the NIC's receive queue through the CPU's functions to its send queue.

What runs elsewhere, on an accelerator or in Python, escapes: it is handed to the caller and answered by
:func:`respond`. A CPU function is compiled code ``status = f(arguments)``; its arguments are the words below.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.leo.native.clock import CLOCK_WORDS, now_ns
from offramp.leo.native.dataflow import MOST_TRIPS
from offramp.leo.native.engine import CAME as SLOT_CAME
from offramp.leo.native.engine import HEAD as SLOT_HEAD
from offramp.leo.native.engine import ID as SLOT_ID
from offramp.leo.native.engine import INFO as SLOT_INFO
from offramp.leo.native.engine import KEY as SLOT_KEY
from offramp.leo.native.engine import LENGTH as SLOT_LENGTH
from offramp.leo.native.engine import MESSAGE as SLOT_MESSAGE
from offramp.leo.native.engine import MOST_MESSAGE as MOST_SLOT
from offramp.leo.native.engine import enqueue, next_slot, slot_ready
from offramp.leo.native.journal import (
    ANSWER,
    ANSWERED,
    GIVEN,
    KEPT,
    MOST_ANSWER,
    MOST_WRITE,
    NEW,
    NUMBER,
    RUNNING,
    STATE,
    STATUS,
    commit,
    kept,
    redo,
)
from offramp.leo.native.journal import (
    LENGTH as WRITE_LENGTH,
)
from offramp.leo.native.pace import IDLE_NS, after_round
from offramp.leo.native.ring import (
    ARRIVED,
    BAD_ROW,
    FAULT,
    ID,
    INFO,
    KEY,
    LENGTH,
    NOTHING,
    ONCE,
    POSITION,
    STAMP,
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
from offramp.leo.native.state import MOST_ROWS
from offramp_base.native.subset import Bytes, Words, call_word, copy, inlined, native, observe

# The state's words.
MEMORY: Final = CLOCK_WORDS  # address and bytes of the host's memory
MEMORY_BYTES: Final = MEMORY + 1
FUNCTIONS: Final = MEMORY + 2
ESCAPED: Final = MEMORY + 3  # of the last call
SERVED: Final = MEMORY + 4  # requests that the CPU has executed
ROWS: Final = MEMORY + 5  # of the requester's table
TAKEN: Final = MEMORY + 6  # address of room for the message that is executed
ARGUMENTS: Final = 32
ENTRY: Final = 48  # the words of the entry in front, as they were read
TABLE: Final = 56  # of functions

MOST_TAKEN: Final = MOST_WRITE + 8
"""Bytes of a message that is copied before it is executed: the longest whose words a function relies on."""
_FEW: Final = 64

ENGINES: Final = 16  # of each device that has one, its address, by its number: 0 to 7
MOST_ENGINES: Final = 8

# A function's words.
ADDRESS: Final = 0  # 0: not compiled
CONTEXT: Final = 1
ROOM: Final = 2  # bytes of its longest answer
ACCELERATED: Final = 3  # its context on a device with an engine, 0 where it has none
FUNCTION_WORDS: Final = 4

# Arguments of a function.
MESSAGE: Final = 0  # address and bytes
MESSAGE_BYTES: Final = 1
REPLY: Final = 2  # address; bytes that may be used, then bytes that were
REPLY_BYTES: Final = 3
LOG: Final = 4  # the journal, which takes what is to be written
HOST: Final = 5  # address and bytes of the host's memory
HOST_BYTES: Final = 6
OWN: Final = 7  # the function's context
SCRATCH: Final = 8

# An escaped request.
ESCAPE_ID: Final = 0
ESCAPE_KEY: Final = 1
ESCAPE_STAMP: Final = 2
ESCAPE_INFO: Final = 3
ESCAPE_LENGTH: Final = 4
ESCAPE_PLACE: Final = 5
ESCAPE_WORDS: Final = 6

_HEADER = 4
_OK = int(Status.OK)
_UNKNOWN = int(Status.UNKNOWN_FUNCTION)
_MOST_DELAY = 0xFFFFFFFF
_STATUS_SHIFT = 40


def make_state(functions: int, rows: int) -> npt.NDArray[np.int64]:
    """A responder that knows no compiled function yet, for a requester with a table of ``rows``."""
    state = np.zeros(TABLE + functions * FUNCTION_WORDS, np.int64)
    state[FUNCTIONS], state[ROWS] = functions, rows
    return state


@inlined
def _finish(
    sent: Words, place: int, room: int, length: int, number: int, key: int, info: int, delay: int, now: int
) -> None:
    """Header and words of a response whose message was written in place, in an entry for ``room`` bytes."""
    sent[POSITION] = sent[POSITION] - entry_bytes(room + _HEADER) + entry_bytes(length + _HEADER)
    body = message(sent, place)
    delay = min(max(delay, 0), _MOST_DELAY)
    body[0] = delay & 0xFF
    body[1] = (delay >> 8) & 0xFF
    body[2] = (delay >> 16) & 0xFF
    body[3] = delay >> 24
    words = entry(sent, place)
    words[LENGTH] = length + _HEADER
    words[ID] = number
    words[KEY] = key
    words[STAMP] = now
    words[INFO] = info


@inlined
def _with_status(info: int, status: int) -> int:
    return (info & ~(0xFF << _STATUS_SHIFT)) | status << _STATUS_SHIFT


@native
def _replay(state: Words, held: Words, sent: Words, words: Words, came: int) -> bool:
    """Answer once more what was answered already; False where there is no room."""
    place = reserve(sent, MOST_ANSWER + _HEADER)
    if place == NOTHING:
        return False
    answered = min(max(held[ANSWERED], 0), MOST_ANSWER)
    copy(message(sent, place) + _HEADER, Bytes(int(held + ANSWER)), answered)
    now = now_ns(state)
    info = _with_status(words[INFO], held[STATUS] & 0xFF)
    _finish(sent, place, MOST_ANSWER, answered, words[ID], words[KEY], info, now - came, now)
    return True


@inlined
def _taken(state: Words, body: Bytes, length: int) -> Bytes:
    """A message where its sender cannot change it any more; a longer one than functions rely on stays where it is."""
    into = Words(state[TAKEN])
    if length > MOST_TAKEN:
        return body
    if length > _FEW:
        copy(Bytes(int(into)), body, length)
    else:
        words = Words(int(body))
        for i in range((length + 7) >> 3):
            into[i] = observe(words + i)
    return Bytes(int(into))


@native
def _execute(state: Words, journal: Words, function: Words, words: Words, body: Bytes, sent: Words, came: int) -> bool:
    """Let the CPU answer the request in front; False where there is no room for its answer."""
    once = (words[INFO] >> 48) & ONCE
    held = kept(journal, words[ID], (words[INFO] >> 24) & 0xFF)
    room = function[ROOM]
    if once != 0:
        room = min(room, MOST_ANSWER)
    answer = reserve(sent, room + _HEADER)
    if answer == NOTHING:
        return False
    if once != 0:
        held[NUMBER] = words[ID]
        held[STATE] = RUNNING
    arguments = state + ARGUMENTS
    reply = message(sent, answer) + _HEADER
    arguments[MESSAGE] = int(_taken(state, body, words[LENGTH]))
    arguments[MESSAGE_BYTES] = words[LENGTH]
    arguments[REPLY] = int(reply)
    arguments[REPLY_BYTES] = room
    arguments[LOG] = int(journal)
    arguments[HOST] = state[MEMORY]
    arguments[HOST_BYTES] = state[MEMORY_BYTES]
    arguments[OWN] = function[CONTEXT]
    journal[WRITE_LENGTH] = 0
    status = call_word(function[ADDRESS], int(arguments))
    length = arguments[REPLY_BYTES] if status == _OK else 0
    if once != 0:
        commit(journal, held, Bytes(state[MEMORY]), state[MEMORY_BYTES], status, reply, length)
    elif journal[WRITE_LENGTH] != 0:
        redo(journal, Bytes(state[MEMORY]), state[MEMORY_BYTES])
    now = now_ns(state)
    _finish(sent, answer, room, length, words[ID], words[KEY], _with_status(words[INFO], status), now - came, now)
    state[SERVED] = state[SERVED] + 1
    return True


@inlined
def _accelerated(state: Words, function: Words, device: int, named: int, once: int, length: int) -> bool:
    """Whether a device's engine takes the request."""
    known = device < MOST_ENGINES and named < state[FUNCTIONS] and once == 0 and length <= MOST_SLOT
    return known and state[ENGINES + device] != 0 and function[ACCELERATED] != 0 and function[ADDRESS] != 0


@native
def _drain(state: Words, journal: Words, engine: Words, sent: Words) -> int:
    """Answer what a modelled accelerator has finished."""
    count = 0
    now = now_ns(state)
    while slot_ready(engine, now):
        slot = next_slot(engine)
        function = state + (TABLE + (slot[SLOT_INFO] & 0xFFFF) * FUNCTION_WORDS)
        room = function[ROOM]
        answer = reserve(sent, room + _HEADER)
        if answer == NOTHING:
            break
        arguments = state + ARGUMENTS
        arguments[MESSAGE] = int(slot + SLOT_MESSAGE)
        arguments[MESSAGE_BYTES] = slot[SLOT_LENGTH]
        arguments[REPLY] = int(message(sent, answer) + _HEADER)
        arguments[REPLY_BYTES] = room
        arguments[LOG] = int(journal)
        arguments[HOST] = state[MEMORY]
        arguments[HOST_BYTES] = state[MEMORY_BYTES]
        arguments[OWN] = function[ACCELERATED]
        status = call_word(function[ADDRESS], int(arguments))
        length = arguments[REPLY_BYTES] if status == _OK else 0
        info = _with_status(slot[SLOT_INFO], status)
        delay = now - slot[SLOT_CAME]
        _finish(sent, answer, room, length, slot[SLOT_ID], slot[SLOT_KEY], info, delay, now)
        engine[SLOT_HEAD] = engine[SLOT_HEAD] + 1
        count += 1
    return count


@native
def serve(
    state: Words,
    journal: Words,
    received: Words,
    sent: Words,
    budget: int,
    escapes: Words,
    most: int,
    buffer: Bytes,
    room: int,
) -> int:
    """Requests of one connection, at most ``budget``; returns how many were taken or answered.

    The rings and the journal are the connection's; there is room for ``most`` requests that run elsewhere, with
    ``room`` bytes of messages.
    """
    used = 0
    taken = 0
    state[ESCAPED] = 0
    ended = 0
    for device in range(MOST_ENGINES):
        if state[ENGINES + device] != 0:
            ended += _drain(state, journal, Words(state[ENGINES + device]), sent)
    while taken < budget:
        place = front(received)
        if place == NOTHING:
            break
        words = state + ENTRY
        take_words(received, place, words)
        body = message(received, place)
        info = words[INFO]
        trip = (info >> 24) & 0xFF
        if words[ID] & (MOST_ROWS - 1) >= state[ROWS] or trip >= MOST_TRIPS:
            received[FAULT] = BAD_ROW
            break
        came = received[ARRIVED]
        if came == 0:
            came = words[STAMP]
        device = (info >> 16) & 0xFF
        named = info & 0xFFFF
        function = state + (TABLE + named * FUNCTION_WORDS)
        held = kept(journal, words[ID], trip)
        once = (info >> 48) & ONCE
        if once != 0 and held[NUMBER] == words[ID] and held[STATE] == KEPT:
            if not _replay(state, held, sent, words, came):
                break
        elif (
            device == 0
            and named < state[FUNCTIONS]
            and function[ADDRESS] != 0
            and (once == 0 or held[NUMBER] != words[ID] or held[STATE] == NEW)
        ):
            if not _execute(state, journal, function, words, body, sent, came):
                break
        elif _accelerated(state, function, device, named, once, words[LENGTH]):
            engine = Words(state[ENGINES + device])
            if not enqueue(engine, words[ID], words[KEY], info, came, body, words[LENGTH], now_ns(state)):
                break
        else:
            length = words[LENGTH]
            if state[ESCAPED] == most or used + length > room:
                break
            out = escapes + state[ESCAPED] * ESCAPE_WORDS
            out[ESCAPE_ID] = words[ID]
            out[ESCAPE_KEY] = words[KEY]
            out[ESCAPE_STAMP] = came
            out[ESCAPE_INFO] = info
            out[ESCAPE_LENGTH] = length
            out[ESCAPE_PLACE] = used
            copy(buffer + used, body, length)
            used += (length + 7) & ~7
            state[ESCAPED] = state[ESCAPED] + 1
        pass_over(received)
        taken += 1
    publish_ring(sent)
    give_back(received)
    return taken + ended


@native
def serve_on(
    state: Words,
    journal: Words,
    received: Words,
    sent: Words,
    budget: int,
    escapes: Words,
    most: int,
    buffer: Bytes,
    room: int,
    lasts: int,
) -> int:
    """:func:`serve` for ``lasts`` ns, or until something escapes, or there was nothing to do for a while."""
    begun = now_ns(state)
    worked_at = begun
    total = 0
    while True:
        count = serve(state, journal, received, sent, budget, escapes, most, buffer, room)
        total += count
        if state[ESCAPED] != 0:
            return total
        now = after_round(state, lasts, count)
        if count > 0:
            worked_at = now
        if now - begun >= lasts or now - worked_at >= IDLE_NS:
            return total


@native
def respond(state: Words, sent: Words, escape: Words, status: int, answer: Bytes, length: int) -> int:
    """Answer an escaped request; 0 where there is no room now."""
    place = reserve(sent, length + _HEADER)
    if place == NOTHING:
        return 0
    info = escape[ESCAPE_INFO]
    copy(message(sent, place) + _HEADER, answer, length)
    now = now_ns(state)
    number = escape[ESCAPE_ID]
    delay = now - escape[ESCAPE_STAMP]
    _finish(sent, place, length, length, number, escape[ESCAPE_KEY], _with_status(info, status), delay, now)
    publish_ring(sent)
    return 1


@native
def note(journal: Words, escape: Words, status: int, answer: Bytes, length: int) -> int:
    """Keep an escaped request's answer (``status`` of at least 0), or that it was given away (-1), or not (-2).

    Returns:
        The state of its entry before, NEW where it held another request.
    """
    held = kept(journal, escape[ESCAPE_ID], (escape[ESCAPE_INFO] >> 24) & 0xFF)
    before = held[STATE] if held[NUMBER] == escape[ESCAPE_ID] else NEW
    held[NUMBER] = escape[ESCAPE_ID]
    if status >= 0:
        copy(Bytes(int(held + ANSWER)), answer, length)
        held[STATUS] = status
        held[ANSWERED] = length
        held[STATE] = KEPT
    else:
        held[STATE] = GIVEN if status == -1 else NEW
    return before
