# SPDX-License-Identifier: Apache-2.0
"""The requester in machine code: request handler, path selector and request state table (specification section 6).

Written in the part of Python that :mod:`offramp_base.native` compiles. ``table`` is :mod:`offramp.leo.native.state`'s,
``selector`` :mod:`offramp.leo.selection.layout`'s memory. Times are nanoseconds.
"""

from __future__ import annotations

from offramp.device import Status
from offramp.leo.native.clock import now_ns
from offramp.leo.native.dataflow import TripRow
from offramp.leo.native.ring import ONCE, ORDERED, pack_info
from offramp.leo.native.state import MOST_ATTEMPTS, RequestSlot, RequestState, RequestTable, TicketQueue
from offramp.leo.native.submission import Submissions
from offramp.leo.selection.kernel import choose, finished, reroute, set_down
from offramp.leo.selection.layout import HOLD, MISUSE, PS, SelectorState, row_of
from offramp_base.native.records import offset
from offramp_base.native.ring import (
    NOTHING,
    MessageHeader,
    RingEnd,
    entry,
    front,
    give_back,
    message,
    pass_over,
    publish_ring,
    reserve,
)
from offramp_base.native.subset import Bytes, Words, copy, inlined, native, observe

_OK = int(Status.OK)
_ABORTED = int(Status.ABORTED)
_LOST = int(Status.LOST)
_FAILED = int(Status.FAILED)
_LONG = int(Status.BAD_LENGTH)
_FREE = int(RequestState.FREE)
_NEW = int(RequestState.NEW)
_SELECTED = int(RequestState.SELECTED)
_ACC_PENDING = int(RequestState.ACC_PENDING)
_ACC_DONE = int(RequestState.ACC_DONE)
_NIC_PENDING = int(RequestState.NIC_PENDING)
_WAIT_RESP = int(RequestState.WAIT_RESP)
_DONE = int(RequestState.DONE)
_HELD = int(RequestState.HELD)
_ROW_BITS = 16
_HEADER = 4  # bytes of a response before its message
TICKET_SHIFT = 32
_READ_EVERY = 8
_LONG_COPY = 1024
DONE_QUEUE = -2
FAILED_QUEUE = -1


@inlined
def state_row(table: RequestTable, row: int) -> RequestSlot:
    """A row of the table."""
    return table.rows[row]


@inlined
def queue_of(table: RequestTable, number: int) -> TicketQueue:
    """The queue of a link or, with numbers beyond the links, of a local device, with tickets of waiting requests."""
    return TicketQueue(table.queues + number * (table.mask + 1 + TicketQueue.WORDS))


@inlined
def _push(table: RequestTable, queue: TicketQueue, ticket: int) -> None:
    Words(queue + 1)[queue.tail & table.mask] = ticket
    queue.tail = queue.tail + 1


@inlined
def _ticket(table: RequestTable, row: int) -> int:
    """Ticket in a queue: row and attempt; it is stale once the request has taken another way."""
    return row | state_row(table, row).attempt << TICKET_SHIFT


@inlined
def trip_of(table: RequestTable, row: int) -> TripRow:
    """The trip on which a request is."""
    own = state_row(table, row)
    pair = own.type * table.paths + own.path
    return table.trips[table.first[pair] + own.trip]


@inlined
def request_of(table: RequestTable, row: int) -> Bytes:
    """The request's message."""
    return Bytes(state_row(table, row).place)


@inlined
def answer_of(table: RequestTable, row: int) -> Bytes:
    """Buffer for the answer to a trip."""
    return Bytes(table.answers + row * table.stride)


@inlined
def _stale(number: int, length: int) -> bool:
    """Whether to read the clock again before message ``number`` of a batch; a read costs as much as a small message."""
    return number % _READ_EVERY == 0 or length > _LONG_COPY


@native
def _stage(table: RequestTable, row: int) -> None:
    """Begin a trip: at the requester's accelerator, or directly in the NIC's queue."""
    own = state_row(table, row)
    trip = trip_of(table, row)
    if trip.local >= 0 and own.acted == 0:
        own.state = _ACC_PENDING
        _push(table, queue_of(table, table.links + trip.local), _ticket(table, row))
    else:
        own.state = _NIC_PENDING
        _push(table, queue_of(table, trip.link), _ticket(table, row))


@native
def _begin(table: RequestTable, row: int, path: int, now: int) -> None:
    """Begin the first trip on the path that was chosen."""
    own = state_row(table, row)
    own.path = path
    own.trip = 0
    own.answer_bytes = 0
    own.acted = 0
    own.jct = 0
    own.t1 = now
    own.state = _SELECTED
    _stage(table, row)


@native
def _begin_started(table: RequestTable, selector: SelectorState, count: int, now: int) -> None:
    """Begin requests that the selector had held."""
    for i in range(count):
        row = selector.started_rows[i]
        _begin(table, row, row_of(selector, row).path, now)


@native
def admit(table: RequestTable, selector: SelectorState, submissions: Submissions, window: int) -> int:
    """Admit requests that are due, in order, up to ``window`` under way and while rows are free; returns how many."""
    types = submissions.types
    keys = submissions.keys
    users = submissions.users
    offsets = submissions.offsets
    sizes = submissions.sizes
    due = submissions.due
    payload = submissions.payload
    count = 0
    now = 0
    while submissions.next < submissions.count and table.free_count > 0 and table.in_flight < window:
        i = submissions.next
        if _stale(count, sizes[i]):
            now = now_ns(table)
        if due[i] > now:
            return count
        row = table.free[table.free_count - 1]
        own = state_row(table, row)
        table.serial = table.serial + 1
        own.number = table.serial << _ROW_BITS | row
        own.state = _NEW
        own.type = types[i]
        own.key = keys[i]
        own.user = users[i]
        own.size = sizes[i]
        own.attempt = 0
        own.begun = now
        own.place = int(payload + offsets[i])
        if submissions.lasting == 0:
            own.place = table.requests + row * table.stride
            copy(request_of(table, row), payload + offsets[i], sizes[i])
        path = choose(selector, row, types[i], keys[i], now * PS)
        if path == MISUSE:
            own.state = _FREE
            return count
        submissions.next = i + 1
        table.free_count = table.free_count - 1
        table.in_flight = table.in_flight + 1
        if path == HOLD:
            own.state = _HELD
        else:
            _begin(table, row, path, now)
        count += 1
    return count


@native
def compose(table: RequestTable, row: int, into: Bytes) -> int:
    """Write the message of the trip to ``into``, unless that is address 0; returns its length in bytes."""
    own = state_row(table, row)
    trip = trip_of(table, row)
    held = own.answer_bytes
    if own.acted == 0 and trip.previous == 0:
        held = 0
    size = 0
    start = trip.start
    if own.acted == 0:
        size = max(own.size - start, 0)
        if trip.length >= 0:
            size = min(size, trip.length)
    if int(into) != 0:
        copy(into, answer_of(table, row), held)
        copy(into + held, request_of(table, row) + start, size)
    return held + size


@native
def send(table: RequestTable, link: int, sent: RingEnd) -> int:
    """Move messages from a link's queue into its ring, as many as fit; returns how many."""
    queue = queue_of(table, link)
    count = 0
    now = 0
    while queue.head != queue.tail:
        ticket = Words(queue + 1)[queue.head & table.mask]
        row = ticket & 0xFFFFFFFF
        own = state_row(table, row)
        if own.state == _NIC_PENDING and own.attempt == ticket >> TICKET_SHIFT:
            length = compose(table, row, Bytes(0))
            place = reserve(sent, length)
            if place == NOTHING:
                break
            compose(table, row, message(sent, place))
            trip = trip_of(table, row)
            words = entry(sent, place)
            if _stale(count, length):
                now = now_ns(table)
            words.length = length
            words.id = own.number
            words.key = own.key
            words.stamp = now
            words.info = pack_info(
                trip.function,
                trip.remote,
                own.trip,
                own.attempt,
                0,
                trip.flags,
            )
            own.t2 = now
            own.state = _WAIT_RESP
            count += 1
        queue.head = queue.head + 1
    publish_ring(sent)
    return count


@native
def _end(table: RequestTable, selector: SelectorState, row: int, status: int, now: int) -> None:
    """End a request; those that waited for it begin."""
    own = state_row(table, row)
    jct = own.jct
    taken = now - own.begun
    own.status = status
    own.ended = now
    own.state = _DONE
    table.in_flight = table.in_flight - 1
    if status != _OK:
        own.answer_bytes = 0
    _push(table, _queue_from_end(table, DONE_QUEUE), row)
    if status in (_LOST, _ABORTED):
        jct = -1
    _begin_started(table, selector, finished(selector, row, jct * PS, taken * PS, now * PS), now)


@inlined
def _queue_from_end(table: RequestTable, number: int) -> TicketQueue:
    """The done or the failed queue; they follow all other queues."""
    sections = Words(table)
    between = sections[offset(RequestTable.free)] - sections[offset(RequestTable.queues)]
    return queue_of(table, between // (table.mask + 1 + TicketQueue.WORDS) + number)


@native
def _fail(table: RequestTable, selector: SelectorState, row: int, status: int, now: int) -> None:
    """Handle a failed path: Python decides which paths are down; a request that may not be retried is done."""
    once = trip_of(table, row).flags & ONCE
    if (once != 0 and status == _LOST) or state_row(table, row).attempt >= MOST_ATTEMPTS:
        _end(table, selector, row, status, now)
    else:
        table.failed = table.failed | 1 << state_row(table, row).path
        _push(table, _queue_from_end(table, FAILED_QUEUE), _ticket(table, row))


@inlined
def expected(table: RequestTable, ticket: int) -> bool:
    """Whether a request waits for its local device under this ticket."""
    row = ticket & 0xFFFFFFFF
    return state_row(table, row).state == _ACC_PENDING and state_row(table, row).attempt == ticket >> TICKET_SHIFT


@native
def acted(table: RequestTable, selector: SelectorState, ticket: int, status: int, answer: Bytes, length: int) -> int:
    """Continue a request on which the requester's accelerator has worked (section 6, step 5); 0 if not expected."""
    if not expected(table, ticket):
        return 0
    row = ticket & 0xFFFFFFFF
    own = state_row(table, row)
    if status in (_LOST, _ABORTED):
        _fail(table, selector, row, status, now_ns(table))
    elif status != _OK or length > table.stride:
        _end(table, selector, row, status if status != _OK else _LONG, now_ns(table))
    else:
        own.state = _ACC_DONE
        if int(answer) != int(answer_of(table, row)):
            copy(answer_of(table, row), answer, length)
        own.answer_bytes = length
        own.acted = 1
        _stage(table, row)
    return 1


@native
def _respond(
    table: RequestTable, selector: SelectorState, received: RingEnd, place: int, arrived: int, now: int
) -> None:
    """Deliver the response at the front to the request that waits for it, or drop it."""
    words = Words(entry(received, place))
    number = observe(words + offset(MessageHeader.id))
    row = number & ((1 << _ROW_BITS) - 1)
    own = state_row(table, row)
    if row >= table.row_count or own.number != number:
        return
    info = observe(words + offset(MessageHeader.info))
    if own.state != _WAIT_RESP or (info >> 32) & 0xFF != own.attempt:
        return
    if (info >> 24) & 0xFF != own.trip:
        return
    if (table.failed >> own.path) & 1 and trip_of(table, row).flags & ORDERED != 0:
        return  # it may not end before one of its key that goes again, and goes again with it
    came = max(observe(words + offset(MessageHeader.stamp)) if arrived == 0 else arrived, own.t2)
    status = (info >> 40) & 0xFF
    if status > _LOST:
        status = _FAILED
    length = received.front - _HEADER
    if length < 0 or length > table.stride:
        _end(table, selector, row, _LONG, now)
        return
    body = message(received, place)
    delay = body[0] | body[1] << 8 | body[2] << 16 | body[3] << 24
    waited = own.t2 - own.t1 + delay + max(now - came, 0)
    waited = min(waited, max(now - own.t1, 0))  # whatever the responder's stamps say
    own.delay = delay
    own.jct = own.jct + waited
    if status in (_LOST, _ABORTED):
        _fail(table, selector, row, status, now)
        return
    copy(answer_of(table, row), body + _HEADER, length)
    own.answer_bytes = length
    pair = own.type * table.paths + own.path
    if status == _OK and own.trip + 1 < table.count[pair]:
        own.trip = own.trip + 1
        own.acted = 0
        own.t1 = now
        _stage(table, row)
    else:
        _end(table, selector, row, status, now)


@native
def receive(table: RequestTable, selector: SelectorState, received: RingEnd, most: int) -> int:
    """Receive up to ``most`` responses from a link's ring; returns how many."""
    count = 0
    now = 0
    while count < most:
        place = front(received)
        if place == NOTHING:
            break
        if _stale(count, received.front):
            now = now_ns(table)
        _respond(table, selector, received, place, received.arrived, now)
        pass_over(received)
        count += 1
    give_back(received)
    return count


@native
def failures(table: RequestTable, rows: Words, most: int) -> int:
    """Rows whose paths have failed since the last call."""
    queue = _queue_from_end(table, FAILED_QUEUE)
    count = 0
    while count < most and queue.head != queue.tail:
        ticket = Words(queue + 1)[queue.head & table.mask]
        queue.head = queue.head + 1
        row = ticket & 0xFFFFFFFF
        if state_row(table, row).attempt == ticket >> TICKET_SHIFT and state_row(table, row).state != _DONE:
            rows[count] = row
            count += 1
    table.failed = 0
    return count


@native
def _purge(table: RequestTable, queue: TicketQueue) -> None:
    """Remove stale tickets, so that a queue never holds more than twice the rows."""
    kept = queue.head
    slots = Words(queue + 1)
    for at in range(queue.head, queue.tail):
        ticket = slots[at & table.mask]
        row = ticket & 0xFFFFFFFF
        if state_row(table, row).attempt == ticket >> TICKET_SHIFT:
            slots[kept & table.mask] = ticket
            kept += 1
    queue.tail = kept


@native
def change_paths(table: RequestTable, selector: SelectorState, down: int, rows: Words, count: int) -> int:
    """Close the paths of these bits; the requests in ``rows``, in the order of their arrival, are sent again."""
    now = now_ns(table)
    for i in range(count):
        state_row(table, rows[i]).attempt = state_row(table, rows[i]).attempt + 1
    last = _queue_from_end(table, FAILED_QUEUE)
    queue = queue_of(table, 0)
    while int(queue) < int(_queue_from_end(table, DONE_QUEUE)):
        _purge(table, queue)
        queue = TicketQueue(Words(queue) + (table.mask + 1 + TicketQueue.WORDS))
    _purge(table, last)
    started = set_down(selector, down, now * PS)
    _begin_started(table, selector, started, now)
    for i in range(count):
        path = reroute(selector, rows[i], now * PS)
        if path == HOLD:
            state_row(table, rows[i]).state = _HELD
        else:
            _begin(table, rows[i], path, now)
    return started


@native
def collect(
    table: RequestTable,
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
    """Collect finished requests in the order in which they ended, and their rows with the answers; returns how many."""
    queue = _queue_from_end(table, DONE_QUEUE)
    count = 0
    while count < most and queue.head != queue.tail:
        row = Words(queue + 1)[queue.head & table.mask]
        own = state_row(table, row)
        queue.head = queue.head + 1
        rows[count] = row
        own.state = _FREE
        users[count] = own.user
        statuses[count] = own.status
        paths[count] = own.path
        jcts[count] = own.jct
        begun[count] = own.begun
        ended[count] = own.ended
        lengths[count] = own.answer_bytes
        count += 1
    return count


@native
def free_rows(table: RequestTable, rows: Words, count: int) -> int:
    """Free these rows, which were collected."""
    for i in range(count):
        table.free[table.free_count + i] = rows[i]
    table.free_count = table.free_count + count
    return count
