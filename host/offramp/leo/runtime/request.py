# SPDX-License-Identifier: Apache-2.0
"""The requester in machine code: request handler, path selector and request state table (specification section 6).

Written in the part of Python that :mod:`offramp_base.native` compiles. ``table`` is :mod:`offramp.leo.runtime.state`'s,
``selector`` :mod:`offramp.leo.selection.layout`'s memory. Times are nanoseconds.
"""

from __future__ import annotations

from offramp.device import Status
from offramp.leo.runtime.clock import now_ns
from offramp.leo.runtime.dataflow import FLAGS, FUNCTION, LENGTH, LINK, LOCAL, PREVIOUS, REMOTE, START, TRIP_WORDS
from offramp.leo.runtime.intake import COLUMNS, LASTING, NEXT, PAYLOAD
from offramp.leo.runtime.intake import COUNT as INTAKE_COUNT
from offramp.leo.runtime.intake import DUE as INTAKE_DUE
from offramp.leo.runtime.intake import KEY as INTAKE_KEY
from offramp.leo.runtime.intake import OFFSET as INTAKE_OFFSET
from offramp.leo.runtime.intake import SIZE as INTAKE_SIZE
from offramp.leo.runtime.intake import TYPE as INTAKE_TYPE
from offramp.leo.runtime.intake import USER as INTAKE_USER
from offramp.leo.runtime.ring import (
    ARRIVED,
    FRONT,
    ID,
    INFO,
    NOTHING,
    ONCE,
    ORDERED,
    STAMP,
    entry,
    front,
    give_back,
    message,
    pack_info,
    pass_over,
    publish_ring,
    reserve,
)
from offramp.leo.runtime.ring import (
    KEY as ENTRY_KEY,
)
from offramp.leo.runtime.ring import (
    LENGTH as ENTRY_LENGTH,
)
from offramp.leo.runtime.state import (
    ACTED,
    ANSWER,
    ANSWERS,
    ATTEMPT,
    BEGUN,
    COUNT,
    DELAY,
    ENDED,
    FAILED,
    FIRST,
    FREE,
    FREE_COUNT,
    IN_FLIGHT,
    JCT,
    KEY,
    LINKS,
    MASK,
    MOST_ATTEMPTS,
    NUMBER,
    PATH,
    PATHS,
    PLACE,
    QUEUE_HEAD,
    QUEUE_SLOTS,
    QUEUE_TAIL,
    QUEUES,
    REQUESTS,
    ROW_WORDS,
    ROWS,
    ROWS_AT,
    SERIAL,
    SIZE,
    STATE,
    STATUS,
    STRIDE,
    T1,
    T2,
    TRIP,
    TRIPS,
    TYPE,
    USER,
    State,
)
from offramp.leo.selection.kernel import choose, finished, reroute, set_down
from offramp.leo.selection.layout import HOLD, MISUSE, PS, ROW_PATH, STARTED_ROWS, row_of
from offramp_base.native.subset import Bytes, Words, copy, inlined, native, observe

_OK = int(Status.OK)
_ABORTED = int(Status.ABORTED)
_LOST = int(Status.LOST)
_FAILED = int(Status.FAILED)
_LONG = int(Status.BAD_LENGTH)
_FREE = int(State.FREE)
_NEW = int(State.NEW)
_SELECTED = int(State.SELECTED)
_ACC_PENDING = int(State.ACC_PENDING)
_ACC_DONE = int(State.ACC_DONE)
_NIC_PENDING = int(State.NIC_PENDING)
_WAIT_RESP = int(State.WAIT_RESP)
_DONE = int(State.DONE)
_HELD = int(State.HELD)
_ROW_BITS = 16
_HEADER = 4  # bytes of a response before its message
TICKET_SHIFT = 32
_READ_EVERY = 8
_LONG_COPY = 1024
DONE_QUEUE = -2
FAILED_QUEUE = -1


@inlined
def _section(table: Words, which: int) -> Words:
    return table + table[which]


@inlined
def state_row(table: Words, row: int) -> Words:
    """A row's words."""
    return table + (table[ROWS_AT] + row * ROW_WORDS)


@inlined
def queue_of(table: Words, number: int) -> Words:
    """Of links, then of local devices: tickets of requests that wait."""
    return table + (table[QUEUES] + number * (table[MASK] + 1 + QUEUE_SLOTS))


@inlined
def _push(table: Words, queue: Words, ticket: int) -> None:
    (queue + QUEUE_SLOTS)[queue[QUEUE_TAIL] & table[MASK]] = ticket
    queue[QUEUE_TAIL] = queue[QUEUE_TAIL] + 1


@inlined
def _ticket(table: Words, row: int) -> int:
    """Row and attempt: what waits in a queue, stale once the request has gone another way."""
    return row | state_row(table, row)[ATTEMPT] << TICKET_SHIFT


@inlined
def trip_of(table: Words, row: int) -> Words:
    """The trip that a request is on."""
    own = state_row(table, row)
    pair = own[TYPE] * table[PATHS] + own[PATH]
    return table + (table[TRIPS] + (_section(table, FIRST)[pair] + own[TRIP]) * TRIP_WORDS)


@inlined
def request_of(table: Words, row: int) -> Bytes:
    """Its message."""
    return Bytes(state_row(table, row)[PLACE])


@inlined
def answer_of(table: Words, row: int) -> Bytes:
    """Room for the answer to a trip."""
    return Bytes(table[ANSWERS] + row * table[STRIDE])


@inlined
def _stale(number: int, length: int) -> bool:
    """Whether to read the clock again, which costs as much as a small message, before message ``number`` of a batch."""
    return number % _READ_EVERY == 0 or length > _LONG_COPY


@native
def _stage(table: Words, row: int) -> None:
    """The trip begins: at the requester's accelerator, or at once in the NIC's queue."""
    own = state_row(table, row)
    trip = trip_of(table, row)
    if trip[LOCAL] >= 0 and own[ACTED] == 0:
        own[STATE] = _ACC_PENDING
        _push(table, queue_of(table, table[LINKS] + trip[LOCAL]), _ticket(table, row))
    else:
        own[STATE] = _NIC_PENDING
        _push(table, queue_of(table, trip[LINK]), _ticket(table, row))


@native
def _begin(table: Words, row: int, path: int, now: int) -> None:
    """A path is chosen: its first trip begins."""
    own = state_row(table, row)
    own[PATH] = path
    own[TRIP] = 0
    own[ANSWER] = 0
    own[ACTED] = 0
    own[JCT] = 0
    own[T1] = now
    own[STATE] = _SELECTED
    _stage(table, row)


@native
def _begin_started(table: Words, selector: Words, count: int, now: int) -> None:
    """Requests that the selector had held begin."""
    for i in range(count):
        row = (selector + selector[STARTED_ROWS])[i]
        _begin(table, row, row_of(selector, row)[ROW_PATH], now)


@native
def admit(table: Words, selector: Words, intake: Words, window: int) -> int:
    """Requests that are due, in order, while rows are free and fewer than ``window`` are under way; how many."""
    types = Words(intake[COLUMNS + INTAKE_TYPE])
    keys = Words(intake[COLUMNS + INTAKE_KEY])
    users = Words(intake[COLUMNS + INTAKE_USER])
    offsets = Words(intake[COLUMNS + INTAKE_OFFSET])
    sizes = Words(intake[COLUMNS + INTAKE_SIZE])
    due = Words(intake[COLUMNS + INTAKE_DUE])
    payload = Bytes(intake[PAYLOAD])
    count = 0
    now = 0
    while intake[NEXT] < intake[INTAKE_COUNT] and table[FREE_COUNT] > 0 and table[IN_FLIGHT] < window:
        i = intake[NEXT]
        if _stale(count, sizes[i]):
            now = now_ns(table)
        if due[i] > now:
            return count
        row = _section(table, FREE)[table[FREE_COUNT] - 1]
        own = state_row(table, row)
        table[SERIAL] = table[SERIAL] + 1
        own[NUMBER] = table[SERIAL] << _ROW_BITS | row
        own[STATE] = _NEW
        own[TYPE] = types[i]
        own[KEY] = keys[i]
        own[USER] = users[i]
        own[SIZE] = sizes[i]
        own[ATTEMPT] = 0
        own[BEGUN] = now
        own[PLACE] = int(payload + offsets[i])
        if intake[LASTING] == 0:
            own[PLACE] = table[REQUESTS] + row * table[STRIDE]
            copy(request_of(table, row), payload + offsets[i], sizes[i])
        path = choose(selector, row, types[i], keys[i], now * PS)
        if path == MISUSE:
            own[STATE] = _FREE
            return count
        intake[NEXT] = i + 1
        table[FREE_COUNT] = table[FREE_COUNT] - 1
        table[IN_FLIGHT] = table[IN_FLIGHT] + 1
        if path == HOLD:
            own[STATE] = _HELD
        else:
            _begin(table, row, path, now)
        count += 1
    return count


@native
def compose(table: Words, row: int, into: Bytes) -> int:
    """The message of the trip, into ``into`` unless that is address 0; returns its bytes."""
    own = state_row(table, row)
    trip = trip_of(table, row)
    held = own[ANSWER]
    if own[ACTED] == 0 and trip[PREVIOUS] == 0:
        held = 0
    size = 0
    start = trip[START]
    if own[ACTED] == 0:
        size = max(own[SIZE] - start, 0)
        if trip[LENGTH] >= 0:
            size = min(size, trip[LENGTH])
    if int(into) != 0:
        copy(into, answer_of(table, row), held)
        copy(into + held, request_of(table, row) + start, size)
    return held + size


@native
def send(table: Words, link: int, sent: Words) -> int:
    """Messages of a link's queue into its ring, as many as it takes; returns how many."""
    queue = queue_of(table, link)
    count = 0
    now = 0
    while queue[QUEUE_HEAD] != queue[QUEUE_TAIL]:
        ticket = (queue + QUEUE_SLOTS)[queue[QUEUE_HEAD] & table[MASK]]
        row = ticket & 0xFFFFFFFF
        own = state_row(table, row)
        if own[STATE] == _NIC_PENDING and own[ATTEMPT] == ticket >> TICKET_SHIFT:
            length = compose(table, row, Bytes(0))
            place = reserve(sent, length)
            if place == NOTHING:
                break
            compose(table, row, message(sent, place))
            trip = trip_of(table, row)
            words = entry(sent, place)
            if _stale(count, length):
                now = now_ns(table)
            words[ENTRY_LENGTH] = length
            words[ID] = own[NUMBER]
            words[ENTRY_KEY] = own[KEY]
            words[STAMP] = now
            words[INFO] = pack_info(
                trip[FUNCTION],
                trip[REMOTE],
                own[TRIP],
                own[ATTEMPT],
                0,
                trip[FLAGS],
            )
            own[T2] = now
            own[STATE] = _WAIT_RESP
            count += 1
        queue[QUEUE_HEAD] = queue[QUEUE_HEAD] + 1
    publish_ring(sent)
    return count


@native
def _end(table: Words, selector: Words, row: int, status: int, now: int) -> None:
    """The request is done; those that waited for it begin."""
    own = state_row(table, row)
    jct = own[JCT]
    taken = now - own[BEGUN]
    own[STATUS] = status
    own[ENDED] = now
    own[STATE] = _DONE
    table[IN_FLIGHT] = table[IN_FLIGHT] - 1
    if status != _OK:
        own[ANSWER] = 0
    _push(table, _queue_from_end(table, DONE_QUEUE), row)
    if status in (_LOST, _ABORTED):
        jct = -1
    _begin_started(table, selector, finished(selector, row, jct * PS, taken * PS, now * PS), now)


@inlined
def _queue_from_end(table: Words, number: int) -> Words:
    """The done or the failed queue, which lie behind all others."""
    return queue_of(table, (table[FREE] - table[QUEUES]) // (table[MASK] + 1 + QUEUE_SLOTS) + number)


@native
def _fail(table: Words, selector: Words, row: int, status: int, now: int) -> None:
    """Its path has failed: Python decides which paths are down; what may not be tried again is done."""
    once = trip_of(table, row)[FLAGS] & ONCE
    if (once != 0 and status == _LOST) or state_row(table, row)[ATTEMPT] >= MOST_ATTEMPTS:
        _end(table, selector, row, status, now)
    else:
        table[FAILED] = table[FAILED] | 1 << state_row(table, row)[PATH]
        _push(table, _queue_from_end(table, FAILED_QUEUE), _ticket(table, row))


@inlined
def expected(table: Words, ticket: int) -> bool:
    """Whether a request waits for its local device under this ticket."""
    row = ticket & 0xFFFFFFFF
    return state_row(table, row)[STATE] == _ACC_PENDING and state_row(table, row)[ATTEMPT] == ticket >> TICKET_SHIFT


@native
def acted(table: Words, selector: Words, ticket: int, status: int, answer: Bytes, length: int) -> int:
    """The requester's accelerator has worked on a message (step 5 of section 6); 0 if nobody waits for it any more."""
    if not expected(table, ticket):
        return 0
    row = ticket & 0xFFFFFFFF
    own = state_row(table, row)
    if status in (_LOST, _ABORTED):
        _fail(table, selector, row, status, now_ns(table))
    elif status != _OK or length > table[STRIDE]:
        _end(table, selector, row, status if status != _OK else _LONG, now_ns(table))
    else:
        own[STATE] = _ACC_DONE
        if int(answer) != int(answer_of(table, row)):
            copy(answer_of(table, row), answer, length)
        own[ANSWER] = length
        own[ACTED] = 1
        _stage(table, row)
    return 1


@native
def _respond(table: Words, selector: Words, received: Words, place: int, arrived: int, now: int) -> None:
    """The response in front belongs to a request that waits for it, or to nobody."""
    words = entry(received, place)
    number = observe(words + ID)
    row = number & ((1 << _ROW_BITS) - 1)
    own = state_row(table, row)
    if row >= table[ROWS] or own[NUMBER] != number:
        return
    info = observe(words + INFO)
    if own[STATE] != _WAIT_RESP or (info >> 32) & 0xFF != own[ATTEMPT]:
        return
    if (info >> 24) & 0xFF != own[TRIP]:
        return
    if (table[FAILED] >> own[PATH]) & 1 and trip_of(table, row)[FLAGS] & ORDERED != 0:
        return  # it may not end before one of its key that goes again, and goes again with it
    came = max(observe(words + STAMP) if arrived == 0 else arrived, own[T2])
    status = (info >> 40) & 0xFF
    if status > _LOST:
        status = _FAILED
    length = received[FRONT] - _HEADER
    if length < 0 or length > table[STRIDE]:
        _end(table, selector, row, _LONG, now)
        return
    body = message(received, place)
    delay = body[0] | body[1] << 8 | body[2] << 16 | body[3] << 24
    waited = own[T2] - own[T1] + delay + max(now - came, 0)
    waited = min(waited, max(now - own[T1], 0))  # whatever the responder's stamps say
    own[DELAY] = delay
    own[JCT] = own[JCT] + waited
    if status in (_LOST, _ABORTED):
        _fail(table, selector, row, status, now)
        return
    copy(answer_of(table, row), body + _HEADER, length)
    own[ANSWER] = length
    pair = own[TYPE] * table[PATHS] + own[PATH]
    if status == _OK and own[TRIP] + 1 < _section(table, COUNT)[pair]:
        own[TRIP] = own[TRIP] + 1
        own[ACTED] = 0
        own[T1] = now
        _stage(table, row)
    else:
        _end(table, selector, row, status, now)


@native
def receive(table: Words, selector: Words, received: Words, most: int) -> int:
    """Responses from a link's ring, ``most`` at a time; returns how many."""
    count = 0
    now = 0
    while count < most:
        place = front(received)
        if place == NOTHING:
            break
        if _stale(count, received[FRONT]):
            now = now_ns(table)
        _respond(table, selector, received, place, received[ARRIVED], now)
        pass_over(received)
        count += 1
    give_back(received)
    return count


@native
def failures(table: Words, rows: Words, most: int) -> int:
    """Rows whose paths have failed since the last call."""
    queue = _queue_from_end(table, FAILED_QUEUE)
    count = 0
    while count < most and queue[QUEUE_HEAD] != queue[QUEUE_TAIL]:
        ticket = (queue + QUEUE_SLOTS)[queue[QUEUE_HEAD] & table[MASK]]
        queue[QUEUE_HEAD] = queue[QUEUE_HEAD] + 1
        row = ticket & 0xFFFFFFFF
        if state_row(table, row)[ATTEMPT] == ticket >> TICKET_SHIFT and state_row(table, row)[STATE] != _DONE:
            rows[count] = row
            count += 1
    table[FAILED] = 0
    return count


@native
def _purge(table: Words, queue: Words) -> None:
    """Leave out what is stale, so that a queue never holds more than twice the rows."""
    kept = queue[QUEUE_HEAD]
    slots = queue + QUEUE_SLOTS
    for at in range(queue[QUEUE_HEAD], queue[QUEUE_TAIL]):
        ticket = slots[at & table[MASK]]
        row = ticket & 0xFFFFFFFF
        if state_row(table, row)[ATTEMPT] == ticket >> TICKET_SHIFT:
            slots[kept & table[MASK]] = ticket
            kept += 1
    queue[QUEUE_TAIL] = kept


@native
def change_paths(table: Words, selector: Words, down: int, rows: Words, count: int) -> int:
    """Close the paths of these bits; ``rows``, in the order in which they came, were on their way and go again."""
    now = now_ns(table)
    for i in range(count):
        state_row(table, rows[i])[ATTEMPT] = state_row(table, rows[i])[ATTEMPT] + 1
    last = _queue_from_end(table, FAILED_QUEUE)
    queue = queue_of(table, 0)
    while int(queue) < int(_queue_from_end(table, DONE_QUEUE)):
        _purge(table, queue)
        queue = queue + (table[MASK] + 1 + QUEUE_SLOTS)
    _purge(table, last)
    started = set_down(selector, down, now * PS)
    _begin_started(table, selector, started, now)
    for i in range(count):
        path = reroute(selector, rows[i], now * PS)
        if path == HOLD:
            state_row(table, rows[i])[STATE] = _HELD
        else:
            _begin(table, rows[i], path, now)
    return started


@native
def collect(
    table: Words,
    most: int,
    rows: Words,
    users: Words,
    statuses: Words,
    paths: Words,
    jcts: Words,
    begun: Words,
    ended: Words,
    lengths: Words,
) -> int:
    """Requests that are done, in the order in which they ended, and their rows, which hold the answers; how many."""
    queue = _queue_from_end(table, DONE_QUEUE)
    count = 0
    while count < most and queue[QUEUE_HEAD] != queue[QUEUE_TAIL]:
        row = (queue + QUEUE_SLOTS)[queue[QUEUE_HEAD] & table[MASK]]
        own = state_row(table, row)
        queue[QUEUE_HEAD] = queue[QUEUE_HEAD] + 1
        rows[count] = row
        own[STATE] = _FREE
        users[count] = own[USER]
        statuses[count] = own[STATUS]
        paths[count] = own[PATH]
        jcts[count] = own[JCT]
        begun[count] = own[BEGUN]
        ended[count] = own[ENDED]
        lengths[count] = own[ANSWER]
        count += 1
    return count


@native
def free_rows(table: Words, rows: Words, count: int) -> int:
    """These rows, which were collected, may be used again."""
    for i in range(count):
        _section(table, FREE)[table[FREE_COUNT] + i] = rows[i]
    table[FREE_COUNT] = table[FREE_COUNT] + count
    return count
