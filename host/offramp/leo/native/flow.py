# SPDX-License-Identifier: Apache-2.0
"""Rounds of the requester in machine code: admit requests when they are due, send them, and collect answers.

Python's part of a round takes as long as dozens of requests, and would add to their latency.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp.leo.native.act import act
from offramp.leo.native.clock import now_ns
from offramp.leo.native.engine import EngineState
from offramp.leo.native.mover import LinkMover, move, push
from offramp.leo.native.pace import IDLE_NS, after_round
from offramp.leo.native.request import admit, collect, receive, send
from offramp.leo.native.state import RequestTable
from offramp.leo.native.submission import Submissions
from offramp.leo.selection.layout import SelectorState
from offramp_base.native.records import At, Record
from offramp_base.native.ring import RingEnd
from offramp_base.native.subset import Words, native


class FlowCall(Record):
    """Parameters and results of a call of :func:`flow`."""

    window: int  # requests under way, at most
    lasts: int  # ns: rounds are repeated for so long
    room: int  # requests that may be collected
    devices: int  # local ones
    turn: int  # the device that is first in the next round
    escaped_from: int  # the device whose tickets have escaped, or NOBODY
    worked: int  # whether there was anything to do


class FlowLink(Record):
    """State of a link; zeros while it is down."""

    sent: At[RingEnd]
    received: At[RingEnd]
    mover: At[LinkMover]  # 0: the rings are shared
    reserved: int


NOBODY: Final = -1
RECEIVED: Final = 1000
"""Most responses per round, and most requests collected at a time."""


@native
def _links(table: RequestTable, selector: SelectorState, links: Words) -> int:
    """Send and receive on the links that are up."""
    worked = 0
    for i in range(table.links):
        link = FlowLink(links) + i
        if int(link.sent) != 0:
            worked += _link(table, selector, i, link)
    return worked


@native
def _link(table: RequestTable, selector: SelectorState, number: int, link: FlowLink) -> int:
    """Send and receive on one link, and move its bytes if no other thread does."""
    worked = send(table, number, link.sent)
    if int(link.mover) != 0:
        worked += move(link.mover, link.sent, link.received)
    received = receive(table, selector, link.received, RECEIVED)
    if received > 0:
        worked += received + send(table, number, link.sent)
        if int(link.mover) != 0:
            push(link.mover, link.sent, link.received)
    return worked


@native
def _failures(table: RequestTable, links: Words) -> int:
    """Number of links that have failed."""
    failed = 0
    for i in range(table.links):
        link = FlowLink(links) + i
        if int(link.sent) != 0 and int(link.mover) != 0 and link.mover.fault != 0:
            failed += 1
    return failed


@native
def _dispatchers(
    table: RequestTable, selector: SelectorState, call: FlowCall, engines: Words, tickets: Words, most: int
) -> int:
    """Let local devices work in turn, until one has requests that compiled code cannot serve."""
    worked = 0
    for _ in range(call.devices):
        i = call.turn
        call.turn = i + 1 if i + 1 < call.devices else 0
        worked += act(table, selector, i, EngineState(engines[i]), tickets, most)
        if table.escaped != 0:
            call.escaped_from = i
            break
    return worked


@native
def collected(table: RequestTable, room: Words, at: int, most: int) -> int:
    """Like :func:`collect`, into the columns of ``room`` from ``at`` on."""
    rows = room + at
    users = rows + RECEIVED
    statuses = users + RECEIVED
    paths = statuses + RECEIVED
    jcts = paths + RECEIVED
    begun = jcts + RECEIVED
    ended = begun + RECEIVED
    return collect(table, most, rows, users, statuses, paths, jcts, begun, ended, ended + RECEIVED)


@native
def flow(
    table: RequestTable,
    selector: SelectorState,
    submissions: Submissions,
    call: FlowCall,
    links: Words,
    engines: Words,
    tickets: Words,
    most: int,
    room: Words,
) -> int:
    """Make rounds until Python is needed or ``room``, ``(8, RECEIVED)``, is full; returns how many requests ended."""
    begun = now_ns(table)
    worked_at = begun
    ended = 0
    call.escaped_from = NOBODY
    call.worked = 0
    while True:
        worked = admit(table, selector, submissions, call.window) + _links(table, selector, links)
        worked += _dispatchers(table, selector, call, engines, tickets, most)
        more = collected(table, room, ended, call.room - ended)
        ended += more
        call.worked = call.worked | worked | more
        if call.escaped_from != NOBODY or table.failed != 0 or ended == call.room or _failures(table, links) > 0:
            return ended
        if submissions.next == submissions.count and table.in_flight < call.window:
            return ended
        now = after_round(table, call.lasts, worked + more)
        if worked + more > 0:
            worked_at = now
        if now - begun >= call.lasts or now - worked_at >= IDLE_NS:
            return ended
